"""Plugins in processes beside the host, every call with a deadline: who asks them is a tenant of such a process."""

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
from hearth_api import ConfigError, ConnectError, PluginError
from hearth_stage.call import Call, Message
from hearth_stage.channel import ChannelClosed, Request
from hearth_stage.connector_call import AlterOffsets, AskExactlyOnce, LoadConnector
from hearth_stage.plugin_call import Describe, KeyInfo, Validate, Validated

ANSWER_SECONDS = 60.0
"""Longest time that whoever asks a plugin waits for its answer; REST gives a request 90 seconds."""
FRAME_BYTES = 64 << 20
"""Longest frame that is taken here, where no records travel: the host is everybody's."""
LET_DOWN = (StageBroken, StageDied, StageTimeout)
"""What whoever asks hears where it may be another's doing, if they share the process."""

R = TypeVar("R")
Hear = Callable[[Message], Any]
"""Answers what a plugin asks or tells, on the process's own thread: it must return at once."""
OnEnd = Callable[["PluginStage", PluginError, bool], None]
"""Hears why the process of a tenant ended, and whether it is known who was asked something then."""


def answer_seconds(worker: WorkerConfig, config: Mapping[str, Any]) -> float:
    """Return how long a plugin may take to answer a question about a configuration.

    A limit that cannot be read is no answer to the question: the connector is refused for it when it starts.
    """
    try:
        limit = worker.call_seconds(config)
    except ConfigError:
        limit = worker.call_seconds({})
    return min(ANSWER_SECONDS, limit)


def wants_apart(worker: WorkerConfig, config: Mapping[str, Any]) -> bool:
    """Return whether questions about a configuration are asked in a process of their own; likewise of what is read."""
    try:
        return worker.is_apart(config)
    except ConfigError:
        return worker.is_apart({})


def confinement_of(worker: WorkerConfig, config: Mapping[str, Any]) -> Confinement:
    """Return what plugins may see that are asked about a configuration; what it may not say goes for none of them."""
    try:
        return worker.confinement(config)
    except ConfigError:
        return worker.confinement({})


class PluginProcess(SharedStage):
    """A process beside the host, in which several may ask plugins, or one alone."""

    def __init__(self, environment: Environment, name: str, idle_seconds: float | None = None) -> None:
        super().__init__(environment, name, idle_seconds, FRAME_BYTES)


class PluginStage:
    """What a tenant has of such a process: its calls run in their order, and wait for those of no other tenant.

    Who shares the process with others leaves it with `close`; who has it alone ends it.
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
        """Return whether plugins can still be called here."""
        return not self._is_closed and self._process.is_alive

    @property
    def is_shared(self) -> bool:
        """Return whether others may live in its process."""
        return self._process.is_shared

    @property
    def is_at_work(self) -> bool:
        """Return whether somebody waits for an answer, or did when the process ended."""
        return self._under_way > 0

    def definitions(self, plugin: Plugin, seconds: float) -> list[KeyInfo]:
        """Return the key definitions of any plugin of the environment, none where it says nothing of them."""
        return self.call(Describe(plugin.reference, plugin.type.value), seconds).config

    def validate(self, plugin: Plugin, config: Mapping[str, Any], seconds: float, prefix: str = "") -> Validated:
        """Let any plugin of the environment check the settings whose names begin with a prefix."""
        return self.call(Validate(plugin.reference, dict(config), plugin.type.value, prefix), seconds)

    def alter_offsets(
        self, plugin: Plugin, config: Mapping[str, str], offsets: list[Any], seconds: float
    ) -> bool | None:
        """Return whether a connector, which is not started, saw to other offsets; None where it allows none."""
        self.call(LoadConnector(plugin.reference), seconds)
        return self.call(AlterOffsets(dict(config), offsets), seconds).is_seen_to

    def exactly_once(
        self, plugin: Plugin, config: Mapping[str, Any], seconds: float, *, boundaries: bool
    ) -> str | None:
        """Return what a connector, which is not started, says of transactions; None where it does not know."""
        self.call(LoadConnector(plugin.reference), seconds)
        return self.call(AskExactlyOnce(dict(config), boundaries), seconds).support

    def call(self, call: Call[R], seconds: float) -> R:
        """Return the answer; who waits for it is interrupted where somebody impatient waits behind him."""
        began = time.monotonic()
        with interruptible(lambda: self._give_up(call.op, began)):
            return self.insist(call, seconds)

    def insist(self, call: Call[R], seconds: float) -> R:
        """Return the answer to what has to be tried, whoever waits."""
        if (label := current_label()) is not None:
            self._stage.connection.labels[self._number] = label  # whoever asks is whom the plugin works for
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
        """Be gone: stop what still runs, unless it hangs. Whoever waits for a plugin hears of it."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if self._number == 0:
            self._process.close()
        elif not was_closed:
            self._let_go(ConnectError("this instance of a plugin has been ended", code="plugin.ended"))
            self._process.dismiss(self._number, hangs=self._is_hung)

    def take(self, request: Request) -> None:
        """Answer what a plugin asks, or take what it tells."""
        request.answer(self.hear)

    def hear(self, message: Message) -> Any:
        """Answer what a plugin asks."""
        if self._hear is None or self._is_closed:
            raise ConnectError(f"nothing runs here, so {message.op!r} has no meaning")
        return self._hear(message)

    def on_end(self, error: PluginError, is_known: bool) -> None:
        """Hear that the process has ended."""
        if self._on_end is not None and not self._is_closed:
            self._on_end(self, error, is_known)

    def _note_answer(self, answer: Future[Any]) -> None:
        """Count an answer that came, or note that none will: before anybody else hears that the process has ended."""
        if isinstance(answer.exception(), ChannelClosed):
            self._process.was_at_work = True
        else:
            with self._lock:
                self._under_way -= 1

    def _give_up(self, op: str, began: float) -> None:
        """End a call before its time, and be gone; the error tells what it was doing."""
        self._is_hung = True
        self._let_go(self._stage.timed_out(op, round(time.monotonic() - began, 1)))
        self.close()

    def _let_go(self, error: Exception) -> None:
        with self._lock:
            if not self._unwanted.done():
                self._unwanted.set_exception(error)
