"""A connector instance in a child process, which is shared unless a tenant misbehaves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from hearth.discovery import Plugin
from hearth.herder.plugin.stage import PROCESS_FAILURES, Hear, OnEnd, PluginStage
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
"""Returns a tenant of a process, which is its own if the first argument is true."""


class StageListener(Protocol):
    """Receives the notifications of a running connector, on the stage's own thread; must not block."""

    def on_task_reconfiguration(self) -> None:
        """Handle a request of the connector for task reconfiguration."""

    def on_error(self, trace: str) -> None:
        """Handle an error of the connector, or the end of the process that it had to itself."""

    def on_loss(self) -> None:
        """Handle the end of a shared process, which another tenant may have caused."""

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of source partitions."""


class StagedConnector:
    """An instance of a connector class, which can be stopped and started again.

    When a shared process ends or misses a deadline, the instance may be the culprit or the victim of another tenant,
    so the call is repeated in a process of its own. An error that the connector raises is its answer; its next
    instance gets its own process.
    """

    def __init__(self, plugin: Plugin, seconds: float, sharing_history: SharingHistory, enter: Enter) -> None:
        """``seconds`` limits each call."""
        self.plugin = plugin
        self.version: str | None = None
        self._seconds = seconds
        self._sharing_history = sharing_history
        self._enter = enter
        self._listener: StageListener | None = None
        self._started: dict[str, str] | None = None
        """The configuration with which it was started successfully."""
        self._may_run = False
        self._lock = threading.Lock()
        self._is_closed = False
        self._stage: PluginStage | None = None
        try:
            self._retried(lambda _: None)
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Return whether the instance can still be called."""
        stage = self._stage
        return stage is not None and stage.is_alive

    def start(self, config: Mapping[str, str], listener: StageListener) -> None:
        """Start the connector; ``listener`` receives its notifications from now on."""
        self._listener = listener
        self._may_run = True  # a connector that fails halfway is stopped, too
        self._ask(StartConnector(dict(config)))
        self._started = dict(config)

    def task_configs(self, maximum: int) -> TaskConfigs:
        """Return the task configurations and the name of the task class."""
        return self._ask(AskTaskConfigs(maximum))

    def stop(self) -> None:
        """Stop the connector if it is started, and keep the instance."""
        self._listener = self._started = None
        stage, may_run = self._stage, self._may_run
        self._may_run = False
        if stage is None or not may_run or not stage.is_alive:
            return
        try:
            # Not interruptible: it must be tried, and its limit is short enough for every caller (Invariant 8).
            stage.insist(StopConnector(), STOP_SECONDS)
        except (StageBroken, StageDied):  # nothing of it runs any more, whatever ended the process
            if not stage.is_shared:
                raise
            self._sharing_history.set_apart("the process that it shared ended before it could stop")
        except PluginError:
            self._sharing_history.set_apart("it did not stop cleanly")
            raise

    def end(self) -> None:
        """Stop the connector and end the instance; raise PluginError for the first of the two that fails."""
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
        return self._retried(lambda stage: stage.call(call, self._seconds))

    def _retried(self, act: Callable[[PluginStage], R]) -> R:
        try:
            return act(self._stage or self._live())
        except RemoteError:
            self._sharing_history.set_apart("it raised an error")
            raise
        except PROCESS_FAILURES:
            stage = self._stage
            if stage is None or not stage.is_shared:
                raise
            self._sharing_history.set_apart("the process that it shared ended or did not answer in time")
            if is_interrupted():
                raise
            stage.close()
            return act(self._live())

    def _live(self) -> PluginStage:
        """Return the process; create a new instance if it has ended, and start it if the old one was started."""
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
            raise ConnectError(f"the connector is not running, so {message.op!r} cannot be answered")
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
