"""Samples a source's records after its transformations: runs its task briefly without sending anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from typing import Any

from hearth.discovery import Plugin
from hearth.herder.planner import Planner
from hearth.herder.plugin.pool import StagePool
from hearth.herder.sharing_history import SharingHistory
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.polled_task import PolledTask, Transformed
from hearth_api import ConnectError
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


class _Silent(NoStore):
    """Ignores a connector's notifications."""

    def on_task_reconfiguration(self) -> None:
        """Ignore it: one set of task configurations is enough."""

    def on_error(self, trace: str) -> None:
        """Ignore it: the call for the task configurations fails as well, or succeeds."""

    def on_loss(self) -> None:
        """Ignore it: the next call fails."""


def first_task_plan(planner: Planner, connector: Plugin, config: Mapping[str, str]) -> PluginPlan:
    """Return the plan of a connector's first task; starts the connector for it, in a process of its own."""
    with closing(StagePool()) as pool:
        seconds = planner.worker_for(config).call_seconds(config)
        instance = pool.take(connector, planner.directory.environment(connector), seconds, SharingHistory())
        try:
            instance.start(config, _Silent())
            tasks = instance.task_configs(1).configs
        finally:
            instance.end()
        if not tasks:
            raise ConnectError(f"{config['name']} has no tasks, so there are no records")
        return planner.plan(connector, instance.version, config, tasks[:1])[0]
