"""What a source's records look like behind its transformations: its task runs for a moment, and nothing is sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth_api.batch import Batch


class NoStore:
    """Stands where a run has its store of offsets: nothing was committed before."""

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Know no offsets: the task begins where it would begin for the first time."""
        return [None] * len(partitions)


def sampled(plan: PluginPlan, first_seconds: float, next_seconds: float) -> Iterator[Batch]:
    """Yield what the first records of a source's task become behind its transformations, as it polls them.

    It ends when the first record or the next does not come in time, or when its caller ends it. Nothing is written to
    Kafka and no offset is committed; what polling does elsewhere is done. Raises what the task raises, and the first
    failure of a record.
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
