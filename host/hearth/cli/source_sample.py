"""Samples a source's records after its transformations: runs its task briefly without sending anything."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth_api.batch import Batch


class NoStore:
    """An offset store in which nothing was committed."""

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Return no offsets: the task starts as it does the first time."""
        return [None] * len(partitions)


def sampled(plan: PluginPlan, first_seconds: float, next_seconds: float) -> Iterator[Batch]:
    """Yield the first records of a source's task after its transformations, as the task polls them.

    Ends when the first or the next record does not arrive in time, or when the caller closes it. Nothing is written
    to Kafka and no offset is committed; other side effects of polling occur. Raises what the task raises, and the
    first failure of a record.
    """
    run = PolledTask(plan, NoStore().read_offsets)
    with ExitStack() as opened:
        run.open(opened)
        seconds = first_seconds
        while isinstance(taken := run.take(seconds), Transformed):
            for failure in taken.failures:
                raise failure.error.to_error()
            yield from taken.batches
            seconds = next_seconds
