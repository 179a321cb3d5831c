"""Processes beside the host in which plugins are asked and connectors live, every call with a deadline."""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from hearth.config import WorkerConfig
from hearth.discovery import Plugin
from hearth.foundation.log_context import current_label
from hearth.herder.queue import interruptible
from hearth.isolation.environment import Environment
from hearth.isolation.stage import Stage
from hearth_api import ConfigError, ConnectError, PluginError
from hearth_execution.failure import summary_of
from hearth_stage.call import Call, Message
from hearth_stage.channel import Request
from hearth_stage.connector_call import (
    AlterOffsets,
    AskTaskConfigs,
    LoadConnector,
    RaiseError,
    RequestReconfiguration,
    StartConnector,
    StopConnector,
    TaskConfigs,
)
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.plugin_call import Describe, KeyInfo, Validate, Validated

ANSWER_SECONDS = 60.0
"""Longest time that whoever asks a plugin waits for its answer; REST gives a request 90 seconds."""
STOP_SECONDS = 5.0
IDLE_SECONDS = 10.0
FRAME_BYTES = 64 << 20
"""Longest frame that is taken here, where no records travel: the host is everybody's."""

_starting = threading.BoundedSemaphore(8)
"""So many processes start at once, more would only wait for processors; until one has started no plugin has a say."""

R = TypeVar("R")
T = TypeVar("T")


def answer_seconds(worker: WorkerConfig, config: Mapping[str, Any]) -> float:
    """Return how long a plugin may take to answer a question about a configuration.

    A limit that cannot be read is no answer to the question: the connector is refused for it when it starts.
    """
    try:
        limit = worker.call_seconds(config)
    except ConfigError:
        limit = worker.call_seconds({})
    return min(ANSWER_SECONDS, limit)


class StageListener(Protocol):
    """Hears what a running connector says by itself, on the stage's own thread: it must return at once."""

    def on_task_reconfiguration(self) -> None:
        """The connector wants to be asked for its task configurations again."""

    def on_error(self, trace: str) -> None:
        """The connector cannot go on, or its process has ended."""

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of source partitions."""


class PluginStage:
    """A process in one environment, whose plugins can be asked of their settings.

    Invariant 6: their code is never imported here. The process ends with `close`, whatever a plugin does, and with
    the host.
    """

    def __init__(self, environment: Environment, name: str) -> None:
        self.environment = environment
        self._is_closed = False
        with _starting:
            self._stage = Stage.start(environment, name, self._answer, self._on_death, FRAME_BYTES)

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._is_closed and self._stage.is_alive

    def definitions(self, plugin: Plugin, seconds: float) -> list[KeyInfo]:
        """Return the key definitions of any plugin of the environment, none where it says nothing of them."""
        return self._call(Describe(plugin.reference, plugin.type.value), seconds).config

    def validate(self, plugin: Plugin, config: Mapping[str, Any], seconds: float, prefix: str = "") -> Validated:
        """Let any plugin of the environment check the settings whose names begin with a prefix."""
        return self._call(Validate(plugin.reference, dict(config), plugin.type.value, prefix), seconds)

    def close(self) -> None:
        """End the process."""
        self._is_closed = True
        with contextlib.suppress(OSError):
            self._stage.close()

    def _call(self, call: Call[R], timeout: float) -> R:
        began = time.monotonic()
        self._stage.label = current_label()  # whoever asks is whom the plugin works for
        with interruptible(lambda: self._give_up(call.op, began)):
            return self._stage.call(call, timeout)

    def _give_up(self, op: str, began: float) -> None:
        """End a call before its time, and the process; the error tells what it was doing."""
        self._stage.let_go(self._stage.timed_out(op, round(time.monotonic() - began, 1)))
        self.close()

    def _answer(self, request: Request) -> None:
        request.fail(ConnectError(f"nothing runs here, so {request.op!r} has no meaning"))

    def _on_death(self, stage: Stage) -> None:
        """Nobody has to hear of it who does not call."""


class ConnectorStage(PluginStage):
    """An instance of a connector class; not running until it is started, and again after it is stopped.

    `seconds` is how long one call of it may take, for whoever has taken it.
    """

    def __init__(self, plugin: Plugin, environment: Environment, seconds: float) -> None:
        self.plugin = plugin
        self.seconds = seconds
        self._listener: StageListener | None = None
        self._is_started = False
        super().__init__(environment, plugin.class_name)
        try:
            self.version: str | None = self._call(LoadConnector(plugin.reference), seconds).version
        except PluginError:
            self.close()
            raise

    def start(self, config: Mapping[str, str], listener: StageListener) -> None:
        """Start the connector; from now on its listener hears what it says."""
        self._listener = listener
        self._is_started = True  # also one that fails half-way is stopped
        self._call(StartConnector(dict(config)), self.seconds)

    def task_configs(self, maximum: int) -> TaskConfigs:
        """Return the configurations of the connector's tasks and the name of their class."""
        return self._call(AskTaskConfigs(maximum), self.seconds)

    def alter_offsets(self, config: Mapping[str, str], offsets: list[Any]) -> bool | None:
        """Return whether the connector, which is not started, saw to other offsets; None where it allows none."""
        return self._call(AlterOffsets(dict(config), offsets), self.seconds).is_seen_to

    def stop(self) -> None:
        """Stop the connector, if it is started, and keep the instance."""
        self._listener = None
        if self._is_started and self.is_alive:
            self._is_started = False
            # Not to be interrupted: it takes no longer than anybody has patience, and has to be tried (Invariant 8).
            self._stage.call(StopConnector(), STOP_SECONDS)

    def end(self) -> None:
        """Stop the connector and end its process; PluginError tells what went wrong with the first of the two."""
        try:
            self.stop()
        finally:
            self.close()

    def close(self) -> None:
        """End the process."""
        self._listener = None
        super().close()

    def _answer(self, request: Request) -> None:
        request.answer(self._hear)

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

    def _on_death(self, stage: Stage) -> None:
        listener = self._listener
        if listener is not None and not self._is_closed:
            # Waiting for the process's last words takes a moment; the stage's reader thread is not to be held up.
            threading.Thread(target=lambda: listener.on_error(summary_of(stage.died())), daemon=True).start()


AnyStage = TypeVar("AnyStage", bound=PluginStage)


class StagePool:
    """Keeps an idle process for a moment, because who validates a configuration mostly starts its connector next."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._idle: dict[PluginStage, threading.Timer] = {}
        self._made: weakref.WeakSet[PluginStage] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self, plugin: Plugin, environment: Environment, seconds: float) -> ConnectorStage:
        """Return an instance of the connector, started anew unless one is idle, whose calls may take so long."""
        found = self._idle_one(lambda stage: isinstance(stage, ConnectorStage) and stage.plugin == plugin)
        if isinstance(found, ConnectorStage):
            found.seconds = seconds
            return found
        return self._keep(ConnectorStage(plugin, environment, seconds))

    def take_any(self, environment: Environment, name: str) -> PluginStage:
        """Return a process of the environment, be it that of an idle connector; one started anew has the name."""
        found = self._idle_one(lambda stage: stage.environment == environment)
        return found or self._keep(PluginStage(environment, name))

    def ask(self, stage: AnyStage, question: Callable[[AnyStage], T]) -> T:
        """Return what a stage that was taken answers, and take it back; one that fails to answer is ended."""
        try:
            answer = question(stage)
        except PluginError:
            stage.close()
            raise
        self.give(stage)
        return answer

    def give(self, stage: PluginStage) -> None:
        """Take back a process in which no connector was started."""
        with self._lock:
            if not self._is_closed and stage.is_alive:
                timer = self._idle[stage] = threading.Timer(self._idle_seconds, self._expire, [stage])
                timer.daemon = True
                timer.start()
                return
        stage.close()

    def close(self) -> None:
        """End all processes, also one whose connector hangs in a call."""
        with self._lock:
            self._is_closed = True
            made = list(self._made)
            for timer in self._idle.values():
                timer.cancel()
            self._idle.clear()
        if made:
            with ThreadPoolExecutor(len(made), thread_name_prefix="close") as threads:
                for stage in made:
                    threads.submit(stage.close)

    def _idle_one(self, is_fit: Callable[[PluginStage], bool]) -> PluginStage | None:
        """Take an idle process that fits, so that it is not ended."""
        with self._lock:
            found = next((stage for stage in self._idle if is_fit(stage) and stage.is_alive), None)
            if found is not None:
                self._idle.pop(found).cancel()
        return found

    def _keep(self, stage: AnyStage) -> AnyStage:
        with self._lock:
            self._made.add(stage)
            if not self._is_closed:
                return stage
        stage.close()  # nobody would end it
        raise ConnectError("the host is stopping", code="host.stopping")

    def _expire(self, stage: PluginStage) -> None:
        """End a process, unless it was taken while this timer rang, and perhaps given back to wait for another."""
        with self._lock:
            if self._idle.get(stage) is not threading.current_thread():
                return
            del self._idle[stage]
        stage.close()
