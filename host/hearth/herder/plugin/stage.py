"""Plugins in child processes: a caller is a tenant of a process, and every call has a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from hearth.config import WorkerConfig
from hearth.config.confinement_key import Confinement
from hearth.discovery import Plugin
from hearth.foundation.log_context import current_label
from hearth.herder.queue import interruptible
from hearth.isolation.environment import Environment
from hearth.isolation.shared_stage import SharedStage
from hearth.isolation.stage import Stage, StageBroken, StageDied, StageTimeout
from hearth.isolation.stage_connection import StageKind
from hearth_api import ConfigError, ConnectError, PluginError
from hearth_stage.call import Call, Message
from hearth_stage.channel import ChannelClosed, Request
from hearth_stage.connector_call import AlterOffsets, AskExactlyOnce, LoadConnector
from hearth_stage.plugin_call import Describe, KeyInfo, Validate, Validated

ANSWER_SECONDS = 60.0
"""Longest wait for a plugin's answer; REST allows a request 90 seconds."""
FRAME_BYTES = 64 << 20
"""Longest frame accepted from a plugin's process, which sends no records; protects the host's memory."""
PROCESS_FAILURES = (StageBroken, StageDied, StageTimeout)
"""Errors that another tenant of a shared process may have caused."""

R = TypeVar("R")
Hear = Callable[[Message], Any]
"""Handles requests and notifications of a plugin on the process's own thread; it must not block."""
OnEnd = Callable[["PluginStage", PluginError, bool], None]
"""Receives the error with which a tenant's process ended, and whether the tenant with the pending call is known."""


def answer_seconds(worker: WorkerConfig, config: Mapping[str, Any]) -> float:
    """Return the time limit of a plugin for a question about a configuration.

    An invalid limit falls back to the worker's: the connector is rejected for it when it starts.
    """
    try:
        limit = worker.call_seconds(config)
    except ConfigError:
        limit = worker.call_seconds({})
    return min(ANSWER_SECONDS, limit)


def wants_apart(worker: WorkerConfig, config: Mapping[str, Any]) -> bool:
    """Return whether questions about a configuration need their own process, by default as the worker says."""
    try:
        return worker.is_apart(config)
    except ConfigError:
        return worker.is_apart({})


def confinement_of(worker: WorkerConfig, config: Mapping[str, Any]) -> Confinement:
    """Return the confinement of plugins for a configuration; an invalid setting falls back to the worker's."""
    try:
        return worker.confinement(config)
    except ConfigError:
        return worker.confinement({})


class PluginProcess(SharedStage):
    """A child process in which one or several tenants call plugins."""

    def __init__(self, environment: Environment, name: str, idle_seconds: float | None = None) -> None:
        super().__init__(environment, name, idle_seconds, StageKind(frame_limit=FRAME_BYTES))


class PluginStage:
    """A tenant's access to a process: its own calls run in order, independent of those of other tenants.

    `close` leaves a shared process, or ends a process of its own.
    """

    def __init__(self, process: SharedStage, hear: Hear | None = None, on_end: OnEnd | None = None) -> None:
        self._process = process
        self._hear = hear
        self._on_end = on_end
        self._unwanted: Future[None] = Future()
        self._lock = threading.Lock()
        self._under_way = 0
        self._is_hung = self._is_closed = False
        self._number = process.admit(self)
        self._stage = Stage(process.stage.connection, process.stage.name, tenant=self._number)

    @property
    def is_alive(self) -> bool:
        """Return whether plugins can still be called."""
        return not self._is_closed and self._process.is_alive

    @property
    def is_shared(self) -> bool:
        """Return whether other tenants may use the process."""
        return self._process.is_shared

    @property
    def is_at_work(self) -> bool:
        """Return whether a call is pending, or was when the process ended."""
        return self._under_way > 0

    def definitions(self, plugin: Plugin, seconds: float) -> list[KeyInfo]:
        """Return the key definitions of any plugin of the environment; empty if it declares none."""
        return self.call(Describe(plugin.reference, plugin.type.value), seconds).config

    def validate(self, plugin: Plugin, config: Mapping[str, Any], seconds: float, prefix: str = "") -> Validated:
        """Have any plugin of the environment validate the settings with a prefix."""
        return self.call(Validate(plugin.reference, dict(config), plugin.type.value, prefix), seconds)

    def alter_offsets(
        self, plugin: Plugin, config: Mapping[str, str], offsets: list[Any], seconds: float
    ) -> bool | None:
        """Return whether a connector that is not started handled new offsets; None if it does not support that."""
        self.call(LoadConnector(plugin.reference), seconds)
        return self.call(AlterOffsets(dict(config), offsets), seconds).is_seen_to

    def exactly_once(
        self, plugin: Plugin, config: Mapping[str, Any], seconds: float, *, boundaries: bool
    ) -> str | None:
        """Return the transaction support of a connector that is not started; None if it does not say."""
        self.call(LoadConnector(plugin.reference), seconds)
        return self.call(AskExactlyOnce(dict(config), boundaries), seconds).support

    def call(self, call: Call[R], seconds: float) -> R:
        """Return the answer; the call is interrupted if an impatient job waits for this one."""
        began = time.monotonic()
        with interruptible(lambda: self._give_up(call.op, began)):
            return self.insist(call, seconds)

    def insist(self, call: Call[R], seconds: float) -> R:
        """Return the answer to a call that must not be interrupted."""
        if (label := current_label()) is not None:
            self._stage.connection.labels[self._number] = label  # log lines of the plugin carry the caller's label
        answer = self._stage.begin(call)
        with self._lock:
            self._under_way += 1
        answer.add_done_callback(self._note_answer)
        try:
            return self._stage.result(answer, call.op, seconds, self._unwanted)
        except StageTimeout:
            self._is_hung = True
            self._process.retire()
            raise

    def close(self) -> None:
        """Leave the process: stop what still runs, unless it hangs. Pending calls fail."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if self._number == 0:
            self._process.close()
        elif not was_closed:
            self._let_go(ConnectError("this instance of a plugin has been ended", code="plugin.ended"))
            self._process.dismiss(self._number, hangs=self._is_hung)

    def take(self, request: Request) -> None:
        """Handle a request or notification of a plugin."""
        request.answer(self.hear)

    def hear(self, message: Message) -> Any:
        """Return the answer to a plugin's request."""
        if self._hear is None or self._is_closed:
            raise ConnectError(f"no plugin is running, so {message.op!r} cannot be answered")
        return self._hear(message)

    def on_end(self, error: PluginError, is_known: bool) -> None:
        """Handle the end of the process."""
        if self._on_end is not None and not self._is_closed:
            self._on_end(self, error, is_known)

    def _note_answer(self, answer: Future[Any]) -> None:
        """Count a completed call, or record one left pending by the process's end before that is reported."""
        if isinstance(answer.exception(), ChannelClosed):
            self._process.was_at_work = True
        else:
            with self._lock:
                self._under_way -= 1

    def _give_up(self, op: str, began: float) -> None:
        """Abort a call and leave the process; the error names the call."""
        self._is_hung = True
        self._let_go(self._stage.timed_out(op, round(time.monotonic() - began, 1)))
        self.close()

    def _let_go(self, error: Exception) -> None:
        with self._lock:
            if not self._unwanted.done():
                self._unwanted.set_exception(error)
