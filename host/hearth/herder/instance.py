"""Manages one connector's instance."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hearth.config import ConnectorConfig
from hearth.config.variable import Resolved
from hearth.discovery import Plugin
from hearth.foundation.log_context import about, label_of
from hearth.herder.plugin.staged_connector import StagedConnector
from hearth.herder.status import StatusBoard
from hearth.storage import OffsetStore, State, TargetState
from hearth_api import ConfigError, ConnectError
from hearth_execution.failure import summary_of

log = logging.getLogger(__name__)

STATE_OF_TARGET = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


def refuse_nulls(config: Mapping[str, str | None]) -> None:
    """Raise ConfigError for a null value: as in Kafka Connect, null passes validation for a declared key."""
    for key, value in config.items():
        if value is None:
            reason = f"Non-string value found in original settings for key {key}: null"
            raise ConfigError(reason, code="config.null", hint="give the key a value or remove it")


class TransitionFailed(ConnectError):
    """An instance or a task could not reach its target state; its status has the trace."""


class ConnectorRun:
    """A connector with one configuration, from its creation until it is replaced, restarted or deleted.

    It lives in a process while it is started or paused. Its methods run on the connector's queue, one call at a time,
    except for `shut_down`; notifications from the connector are queued there. Once FAILED, it can only be stopped.
    """

    def __init__(
        self,
        name: str,
        settings: Resolved,
        plugin: Plugin,
        new_stage: Callable[[], StagedConnector],
        offsets: OffsetStore,
        board: StatusBoard,
        later: Callable[[str, Callable[[], None]], None],
    ) -> None:
        """``later`` queues a named action on the connector's queue, once however often it is requested."""
        self.name = name
        self.settings = settings
        self.plugin = plugin
        self.version: str | None = plugin.version
        self.state = State.UNASSIGNED
        self.target: TargetState | None = None
        """The last requested state, whether it was reached or not."""
        self.is_due = False
        """Whether its task configurations may have changed since they were last requested."""
        self._parsed = ConnectorConfig(settings.config)
        self._new_stage = new_stage
        self._offsets = offsets
        self._board = board
        self._stage: StagedConnector | None = None
        self._later = later
        self._is_over = False
        self.call: tuple[str, float] | None = None
        """The call of the plugin that is under way, and when it began (seconds since the epoch)."""

    @property
    def is_running(self) -> bool:
        """Return whether the instance is started and can be asked for task configurations."""
        return self.state is State.RUNNING

    @property
    def is_stopped(self) -> bool:
        """Return whether the instance was stopped, and would start again with its original settings."""
        return self.state is State.STOPPED

    def transition(self, target: TargetState) -> None:
        """Bring the instance to its target state; raise TransitionFailed if it cannot be reached."""
        self.target = target
        wanted = STATE_OF_TARGET[target]
        if self.state is wanted:
            return
        if self.state is State.FAILED and target is not TargetState.STOPPED:
            raise TransitionFailed(
                f"WorkerConnector{{id={self.name}}} Cannot transition connector to {target} since it has failed"
            )
        name, move = {
            TargetState.STARTED: ("start", self._start),
            TargetState.PAUSED: ("pause", self._pause),
            TargetState.STOPPED: ("stop", self._end),
        }[target]
        try:
            with self._called(name):
                move()
        except (ConnectError, OSError) as error:
            if target is not TargetState.STOPPED:
                self.fail(summary_of(error))
                raise TransitionFailed(
                    f"Failed to transition connector {self.name} to state {target}: {self._shown(error)}"
                ) from error
            log.warning("the connector did not stop cleanly: %s", self._shown(error))
        self._become(wanted)
        self.is_due = self.is_running

    def refuse_unless(self, check: Callable[[], object]) -> None:
        """Run a check that validation skips, as in Kafka Connect; its error fails the connector."""
        try:
            check()
        except ConnectError as error:
            self.fail(summary_of(error))
            raise TransitionFailed(self._shown(error), code=error.code, hint=error.hint) from error

    def task_configs(self) -> list[dict[str, str]]:
        """Return the configurations for the connector's tasks; raise TooManyTasks or PluginError."""
        stage = self._stage
        if stage is None:
            raise self._over()
        self.is_due = False
        maximum = self._parsed.tasks_max
        with self._called("task configurations"):
            answer = stage.task_configs(maximum)
        if len(answer.configs) > maximum:
            self._parsed.refuse_too_many(len(answer.configs))
            log.warning(
                "The connector %s has generated %d tasks, which is greater than %d, the maximum number of tasks it is "
                "configured to create; they run, for tasks.max.enforce is false",
                self.name, len(answer.configs), maximum,
            )  # fmt: skip
        config = self.settings.config
        added = {key: config[key] for key in ("topics", "topics.regex") if key in config}
        if answer.task_class is not None:
            added["task.class"] = self._task_class_name(answer.task_class)
        return self.settings.restored({**each, **added} for each in answer.configs)

    def fail(self, trace: str) -> None:
        """Mark the connector as FAILED; the first reason is kept."""
        if self.state is State.FAILED or self._is_over:
            return
        self._become(State.FAILED, trace)
        if self._stage is not None and not self._stage.is_alive:
            self._stage.close()
            self._stage = None

    def shut_down(self) -> None:
        """End the instance permanently, whatever its state, even while its plugin hangs on another thread."""
        self._is_over = True
        try:
            self._end()
        except ConnectError as error:
            log.warning("the connector did not stop cleanly: %s", self._shown(error))

    def on_task_reconfiguration(self) -> None:
        """Request the task configurations again."""
        self._later(f"reconfiguration of {id(self)}", self._become_due)

    def on_error(self, trace: str) -> None:
        """Fail the connector after it reported an error.

        The error is ignored if its process has ended by then: the connector was stopped or replaced.
        """
        stage = self._stage
        if stage is not None:
            self._later(f"failure of {id(stage)}", lambda: self._fail_with(stage, trace))

    def on_loss(self) -> None:
        """Restart the connector after its process ended, possibly because of another tenant; its tasks continue."""
        stage = self._stage
        if stage is not None:
            self._later(f"loss of {id(stage)}", lambda: self._lose(stage))

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the connector's committed source offsets."""
        return self._offsets.get(self.name, partitions)

    @contextlib.contextmanager
    def _called(self, name: str) -> Iterator[None]:
        self.call = name, time.time()
        try:
            yield
        finally:
            self.call = None

    def _start(self) -> None:
        stage = self._stage  # `shut_down` may clear it while the plugin hangs
        if stage is not None and not stage.is_alive:
            stage.close()
            stage = None
        if stage is None:
            stage = self._stage = self._new_stage()
        if self._is_over:  # `shut_down` may have run before the process existed
            stage.close()
            raise self._over()
        self.version = stage.version
        try:
            stage.start(self.settings.config, self)
        except ConnectError:
            stage.close()
            self._stage = None
            raise

    def _over(self) -> ConnectError:
        return ConnectError(f"this instance of {self.name} has been ended", code="connector.ended")

    def _pause(self) -> None:
        if self._stage is not None:
            self._stage.stop()

    def _end(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.end()

    def _task_class_name(self, task_class: str) -> str:
        """Return the task class under a name in the connector's package.

        Users know a connector by its name in configurations, such as
        org.apache.kafka.connect.file.FileStreamSourceConnector. Kafka Connect shows its task as a class of the same
        package, whatever module the Python class is in.
        """
        package = self.plugin.class_name.rpartition(".")[0]
        simple = task_class.rpartition(".")[2]
        return f"{package}.{simple}" if package else simple

    def _fail_with(self, stage: StagedConnector, trace: str) -> None:
        if self._stage is stage:
            self.fail(trace)

    def _lose(self, stage: StagedConnector) -> None:
        """Discard an instance whose process has ended, so that it is started again unless it is FAILED."""
        if self._stage is stage and not stage.is_alive:
            stage.close()
            self._stage = None
            if self.is_running:
                self.state, self.target = State.UNASSIGNED, None

    def _become_due(self) -> None:
        self.is_due = True

    def _shown(self, error: Exception) -> str:
        return self.settings.hidden(str(error))

    def _become(self, state: State, trace: str | None = None) -> None:
        self.state = state
        if self._is_over:
            return
        shown = trace and self.settings.hidden(trace)
        self._board.connector(self.name, state, shown, self.version)
        with about(label_of(self.name)):
            if shown is None:
                log.info("the connector is %s (%s %s)", state, self.plugin.class_name, self.version)
            else:
                log.error("the connector is %s; its tasks continue without it:\n%s", state, shown)
