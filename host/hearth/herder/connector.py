"""One connector's instance, as its herder sees it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from hearth.config import ConnectorConfig
from hearth.discovery import Plugin
from hearth.herder.plugin.stage import ConnectorStage, trace_of
from hearth.herder.status import StatusBoard
from hearth.storage import OffsetStore, State, TargetState
from hearth_api import ConnectError

log = logging.getLogger(__name__)

STATE_OF_TARGET = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


class TooManyTasks(ConnectError):
    """A connector wants more tasks than its configuration allows."""

    code = "connector.too_many_tasks"

    def __init__(self, connector: str, wanted: int, maximum: int) -> None:
        super().__init__(
            f"The connector {connector} has generated {wanted} tasks, which is greater than {maximum}, "
            "the maximum number of tasks it is configured to create. ",
            hint="raise tasks.max, or set tasks.max.enforce to false",
        )


class ConnectorRun:
    """A connector with one configuration, from its creation until it is replaced, restarted or deleted.

    Its process exists while it is started or paused. Called on the connector's lane, one call at a time; what the
    connector says by itself is passed on to that lane. Once FAILED it stays so, except that it may be
    stopped.
    """

    def __init__(
        self,
        name: str,
        config: Mapping[str, str],
        plugin: Plugin,
        new_stage: Callable[[], ConnectorStage],
        offsets: OffsetStore,
        board: StatusBoard,
        on_reconfiguration: Callable[[], None],
        on_failure: Callable[[str], None],
    ) -> None:
        self.name = name
        self.config = config
        self.plugin = plugin
        self.version: str | None = plugin.version
        self.state = State.UNASSIGNED
        self._settings = ConnectorConfig(config)
        self._new_stage = new_stage
        self._offsets = offsets
        self._board = board
        self._stage: ConnectorStage | None = None
        self._is_over = False
        self.on_task_reconfiguration = on_reconfiguration
        self.on_error = on_failure

    @property
    def is_running(self) -> bool:
        """Return whether the instance is started and can be asked for task configurations."""
        return self.state is State.RUNNING

    def transition(self, target: TargetState) -> None:
        """Bring the instance to the state that is wanted; raises ConnectError when that fails."""
        wanted = STATE_OF_TARGET[target]
        if self.state is wanted:
            return
        if self.state is State.FAILED and target is not TargetState.STOPPED:
            raise ConnectError(
                f"WorkerConnector{{id={self.name}}} Cannot transition connector to {target} since it has failed"
            )
        moves = {TargetState.STARTED: self._start, TargetState.PAUSED: self._rest, TargetState.STOPPED: self._end}
        try:
            moves[target]()
        except (ConnectError, OSError) as error:
            if target is not TargetState.STOPPED:
                self.fail(trace_of(error))
                raise ConnectError(f"Failed to transition connector {self.name} to state {target}") from error
            log.warning("connector %r is stopped, although not cleanly: %s", self.name, error)
        self._become(wanted)

    def refuse_unless(self, check: Callable[[], object]) -> None:
        """Make a check that validation leaves out, as Kafka Connect's does; what it raises fails the connector."""
        try:
            check()
        except ConnectError as error:
            self.fail(trace_of(error))
            raise ConnectError(str(error), code=error.code, hint=error.hint) from error

    def task_configs(self) -> list[dict[str, str]]:
        """Return what the connector's tasks are to be configured with; raises TooManyTasks or PluginError."""
        assert self._stage is not None, "only a started connector is asked"
        maximum = self._settings.tasks_max
        configs, task_class = self._stage.task_configs(maximum)
        if len(configs) > maximum:
            self._complain(TooManyTasks(self.name, len(configs), maximum))
        added = {key: self.config[key] for key in ("topics", "topics.regex") if key in self.config}
        if task_class is not None:
            added["task.class"] = self._named_beside_connector(task_class)
        return [{**config, **added} for config in configs]

    def fail(self, trace: str) -> None:
        """Take note that the connector cannot go on; the first reason stays.

        What an instance says after it was shut down is no news: another one may have taken its place.
        """
        if self.state is State.FAILED or self._is_over:
            return
        self._become(State.FAILED, trace)
        if self._stage is not None and not self._stage.is_alive:
            self._stage.close()
            self._stage = None

    def shut_down(self) -> None:
        """End the instance for good, whatever its state."""
        self._is_over = True
        try:
            self._end()
        except ConnectError as error:
            log.warning("connector %r did not stop cleanly: %s", self.name, error)

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the connector's committed source offsets."""
        return self._offsets.get(self.name, partitions)

    def _start(self) -> None:
        stage = self._stage  # while its plugin hangs the end of the host may take it away
        if stage is None or not stage.is_alive:
            stage = self._stage = self._new_stage()
        self.version = stage.version
        try:
            stage.start(self.config, self)
        except ConnectError:
            stage.close()
            self._stage = None
            raise

    def _rest(self) -> None:
        if self._stage is not None:
            self._stage.stop()

    def _end(self) -> None:
        stage, self._stage = self._stage, None
        if stage is not None:
            stage.end()

    def _named_beside_connector(self, task_class: str) -> str:
        """Return a task class under the name that belongs to the connector's.

        Users know a connector by its name in configurations, org.apache.kafka.connect.file.FileStreamSourceConnector
        say, and Kafka Connect shows its task as a class of the same package, wherever the Python class lies.
        """
        package = self.plugin.class_name.rpartition(".")[0]
        simple = task_class.rpartition(".")[2]
        return f"{package}.{simple}" if package else simple

    def _become(self, state: State, trace: str | None = None) -> None:
        self.state = state
        self._board.connector(self.name, state, trace, self.version)

    def _complain(self, error: TooManyTasks) -> None:
        if self._settings.tasks_max_enforce:
            raise error
        log.warning("%s", error)
