"""An instance of a connector in a process beside the host: shared with others, as long as all behave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from hearth.discovery import Plugin
from hearth.herder.plugin.stage import LET_DOWN, Hear, OnEnd, PluginStage
from hearth.herder.queue import is_interrupted
from hearth.herder.sharing_history import SharingHistory
from hearth.isolation.shared_stage import STOP_SECONDS
from hearth.isolation.stage import StageBroken, StageDied
from hearth_api import ConnectError, PluginError
from hearth_execution.failure import RemoteError, summary_of
from hearth_stage.call import Call, Message
from hearth_stage.connector_call import (
    AskTaskConfigs,
    LoadConnector,
    RaiseError,
    RequestReconfiguration,
    StartConnector,
    StopConnector,
    TaskConfigs,
)
from hearth_stage.offset_call import ReadOffsets, StoredOffsets

R = TypeVar("R")
Enter = Callable[[bool, Hear, OnEnd], PluginStage]
"""Makes a tenant of a process, of one of its own where the first argument says so."""


class StageListener(Protocol):
    """Hears what a running connector says by itself, on the stage's own thread: it must return at once."""

    def on_task_reconfiguration(self) -> None:
        """The connector wants to be asked for its task configurations again."""

    def on_error(self, trace: str) -> None:
        """The connector cannot go on, or the process has ended that it had to itself."""

    def on_loss(self) -> None:
        """The process has ended that the connector shared with others, who may have ended it."""

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of source partitions."""


class StagedConnector:
    """An instance of a connector class; not running until it is started, and again after it is stopped.

    A call that a shared process lets down, because it ends or the answer does not come in time, may be the victim of a
    neighbour or the culprit: it is made once more, in a process of the instance's own. What the connector raises is
    its answer, and its next instance lives by itself.
    """

    def __init__(self, plugin: Plugin, seconds: float, sharing_history: SharingHistory, enter: Enter) -> None:
        """``seconds`` is how long one call of it may take."""
        self.plugin = plugin
        self.version: str | None = None
        self._seconds = seconds
        self._sharing_history = sharing_history
        self._enter = enter
        self._listener: StageListener | None = None
        self._started: dict[str, str] | None = None
        """What it was started with, successfully."""
        self._may_run = False
        self._lock = threading.Lock()
        self._is_closed = False
        self._stage: PluginStage | None = None
        try:
            self._tried(lambda _: None)
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Return whether it can still be called."""
        stage = self._stage
        return stage is not None and stage.is_alive

    def start(self, config: Mapping[str, str], listener: StageListener) -> None:
        """Start the connector; from now on its listener hears what it says."""
        self._listener = listener
        self._may_run = True  # also one that fails half-way is stopped
        self._ask(StartConnector(dict(config)))
        self._started = dict(config)

    def task_configs(self, maximum: int) -> TaskConfigs:
        """Return the configurations of the connector's tasks and the name of their class."""
        return self._ask(AskTaskConfigs(maximum))

    def stop(self) -> None:
        """Stop the connector, if it is started, and keep the instance."""
        self._listener = self._started = None
        stage, may_run = self._stage, self._may_run
        self._may_run = False
        if stage is None or not may_run or not stage.is_alive:
            return
        try:
            # Not to be interrupted: it takes no longer than anybody has patience, and has to be tried (Invariant 8).
            stage.insist(StopConnector(), STOP_SECONDS)
        except (StageBroken, StageDied):  # nothing of it runs any more, whoever ended the process
            if not stage.is_shared:
                raise
            self._sharing_history.set_apart("the process that it shared has ended when it was to stop")
        except PluginError:
            self._sharing_history.set_apart("it has not stopped as it should")
            raise

    def end(self) -> None:
        """Stop the connector and end the instance; PluginError tells what went wrong with the first of the two."""
        try:
            self.stop()
        finally:
            self.close()

    def close(self) -> None:
        """End the instance."""
        self._listener = None
        with self._lock:
            self._is_closed = True
            stage = self._stage
        if stage is not None:
            stage.close()

    def _ask(self, call: Call[R]) -> R:
        return self._tried(lambda stage: stage.call(call, self._seconds))

    def _tried(self, act: Callable[[PluginStage], R]) -> R:
        try:
            return act(self._stage or self._live())
        except RemoteError:
            self._sharing_history.set_apart("it has raised an error")
            raise
        except LET_DOWN:
            stage = self._stage
            if stage is None or not stage.is_shared:
                raise
            self._sharing_history.set_apart("the process that it shared has ended, or did not answer in time")
            if is_interrupted():
                raise
            stage.close()
            return act(self._live())

    def _live(self) -> PluginStage:
        """Make the instance, in the place of one before it, and start it where that was."""
        stage = self._enter(self._sharing_history.is_apart, self._hear, self._on_end)
        with self._lock:
            self._stage = stage
            is_wanted = not self._is_closed
        if not is_wanted:
            stage.close()
            raise ConnectError(f"this instance of {self.plugin.class_name} has been ended", code="connector.ended")
        self.version = stage.call(LoadConnector(self.plugin.reference), self._seconds).version
        if self._started is not None:
            stage.call(StartConnector(self._started), self._seconds)
        return stage

    def _hear(self, message: Message) -> StoredOffsets | None:
        listener = self._listener
        if listener is None:
            raise ConnectError(f"the connector is not running, so {message.op!r} has no meaning")
        if isinstance(message, RequestReconfiguration):
            listener.on_task_reconfiguration()
        elif isinstance(message, RaiseError):
            listener.on_error(message.trace or message.message)
        elif isinstance(message, ReadOffsets):
            return StoredOffsets(listener.read_offsets(message.partitions))
        else:
            raise LookupError(f"a connector has no request {message.op!r}")
        return None

    def _on_end(self, stage: PluginStage, error: PluginError, is_known: bool) -> None:
        listener = self._listener
        if listener is None or stage is not self._stage:
            return
        if stage.is_shared:
            self._sharing_history.lost(is_known)
            listener.on_loss()
        else:
            listener.on_error(summary_of(error))
