"""What a host works with that leads: its plugins, its stores, and what its tasks are launched with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hearth.config.variable import Resolved, Variables
from hearth.herder.planner import Planner
from hearth.herder.plugin.directory import PluginDirectory, PluginGone, PluginNotFound, VersionNotFound
from hearth.herder.plugin.pool import StagePool
from hearth.herder.status import StatusBoard
from hearth.herder.task import CommandLine
from hearth.herder.task_restart import RestartTimer, ring_later
from hearth.herder.worker_choice import UnusableConfiguration
from hearth.runtime.launcher import Launcher
from hearth.storage import ConfigStore, ConfiguredConnector, OffsetStore
from hearth_api import ConnectError


@dataclass(frozen=True)
class LeaderServices:
    """What all supervisors work with."""

    directory: PluginDirectory
    planner: Planner
    pool: StagePool
    configs: ConfigStore
    offsets: OffsetStore
    board: StatusBoard
    launcher: Launcher
    link: CommandLine
    graceful_seconds: float
    """How long tasks may take to drain."""
    ring_later: Callable[[float, Callable[[], None]], RestartTimer] = ring_later
    """How something is done after so many seconds."""
    variables: Variables = field(default_factory=Variables)

    def resolve(self, entry: ConfiguredConnector) -> Resolved:
        """Return the configuration of a connector with the values of its variables."""
        return self.variables.of(entry.config).resolve(entry.config)

    def plan_or_refuse(self, entry: ConfiguredConnector) -> None:
        """Raise what a connector lacks before anything of it is ended that could not begin again.

        Whatever else is wrong with its configuration its tasks say, as in Kafka Connect.
        """
        try:
            config = self.resolve(entry).config
            self.planner.plan(self.directory.connector(config), None, config, entry.tasks)
        except (PluginGone, PluginNotFound, UnusableConfiguration, VersionNotFound):
            raise
        except (ConnectError, OSError):
            return
