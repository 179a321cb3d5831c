"""The services that a leading host shares with all supervisors: plugins, stores and the launcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hearth.config.variable import Resolved, Variables
from hearth.herder.planner import Planner
from hearth.herder.plugin.directory import PluginDirectory, PluginGone, PluginNotFound, VersionNotFound
from hearth.herder.plugin.pool import StagePool
from hearth.herder.status import StatusBoard
from hearth.herder.task import CommandLine
from hearth.herder.task_restart import RestartTimer, run_later
from hearth.herder.worker_choice import UnusableConfiguration
from hearth.metric.worker_metric import WorkerMetrics
from hearth.runtime.launcher import Launcher
from hearth.storage import ConfigStore, ConfiguredConnector, OffsetStore
from hearth_api import ConnectError


@dataclass(frozen=True)
class LeaderServices:
    """The services that all supervisors share."""

    directory: PluginDirectory
    planner: Planner
    pool: StagePool
    configs: ConfigStore
    offsets: OffsetStore
    board: StatusBoard
    launcher: Launcher
    link: CommandLine
    graceful_seconds: float
    """Time that tasks have to drain."""
    run_later: Callable[[float, Callable[[], None]], RestartTimer] = run_later
    """Schedules a callback after a delay in seconds."""
    variables: Variables = field(default_factory=Variables)
    metrics: WorkerMetrics = field(default_factory=WorkerMetrics)

    def resolve(self, entry: ConfiguredConnector) -> Resolved:
        """Return the configuration of a connector with its variables resolved."""
        return self.variables.of(entry.config).resolve(entry.config)

    def plan_or_refuse(self, entry: ConfiguredConnector) -> None:
        """Raise the error if plugins or worker settings for a restart are missing; called before anything is stopped.

        As in Kafka Connect, other configuration errors fail the tasks.
        """
        try:
            config = self.resolve(entry).config
            self.planner.plan(self.directory.connector(config), None, config, entry.tasks)
        except (PluginGone, PluginNotFound, UnusableConfiguration, VersionNotFound):
            raise
        except (ConnectError, OSError):
            return
