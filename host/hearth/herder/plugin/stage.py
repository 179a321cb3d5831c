"""Plugins in processes beside the host, every call with a deadline: who asks them is a tenant of such a process."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from hearth.config import WorkerConfig
from hearth.discovery import Plugin
from hearth.foundation.log_context import current_label
from hearth.herder.queue import interruptible
from hearth.isolation.environment import Environment
from hearth.isolation.stage import Stage, StageBroken, StageDied, StageTimeout
from hearth_api import ConfigError, ConnectError, PluginError
from hearth_stage.call import Call, Message
from hearth_stage.channel import ChannelClosed, Request
from hearth_stage.connector_call import AlterOffsets, LoadConnector
from hearth_stage.plugin_call import Describe, EndTenant, KeyInfo, Ping, Validate, Validated

log = logging.getLogger(__name__)

ANSWER_SECONDS = 60.0
"""Longest time that whoever asks a plugin waits for its answer; REST gives a request 90 seconds."""
STOP_SECONDS = 5.0
MUTE_SECONDS = 30.0
"""How long a process in which a call took too long may leave everybody without a sign of life."""
KEPT_LABELS = 100
"""How many tenants that are gone are remembered, whose last lines may be on their way to the log."""
FRAME_BYTES = 64 << 20
"""Longest frame that is taken here, where no records travel: the host is everybody's."""
LET_DOWN = (StageBroken, StageDied, StageTimeout)
"""What whoever asks hears where it may be another's doing, if they share the process."""

_starting = threading.BoundedSemaphore(8)
"""So many processes start at once, more would only wait for processors; until one has started no plugin has a say."""

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


class ProcessFull(ConnectError):
    """A process takes no further tenant: it has ended or is about to, or it takes but one."""


class PluginProcess:
    """A process in one environment, in which several may ask plugins, or one alone.

    Invariant 6: their code is never imported here. The process ends with `close`, whatever a plugin does, and with
    the host; one that is shared also when it has had no tenant for a while. One in which a call took too long takes
    no further tenants, because what hangs there stays, and those that it has go on.
    """

    def __init__(self, environment: Environment, name: str, idle_seconds: float | None = None) -> None:
        """``idle_seconds`` is how long it waits for tenants that share it; without, it is for one."""
        self.environment = environment
        self._name = name
        self._idle_seconds = idle_seconds
        self._idle: threading.Timer | None = None
        self._lock = threading.Lock()
        self._tenants: dict[int, PluginStage] = {}
        self._gone: deque[int] = deque()
        self._numbers = itertools.count(1)
        self._is_retired = self._is_closed = False
        self.was_at_work = False
        """Whether somebody waited for an answer when the process ended."""
        with _starting:
            self.stage = Stage.start(environment, name, self._answer, self._on_death, FRAME_BYTES)
        self.is_shared = idle_seconds is not None and self.stage.takes_tenants

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._is_closed and self.stage.is_alive

    @property
    def has_room(self) -> bool:
        """Return whether it takes a further tenant."""
        return self.is_alive and not self._is_retired and (self.is_shared or not self._tenants)

    def admit(self, tenant: PluginStage) -> int:
        """Return the number of a new tenant, 0 for one that has the process to itself; raises ProcessFull."""
        with self._lock:
            if not self.has_room:
                raise ProcessFull(f"the process of {self._name} takes no further tenant")
            self._wait_no_more()
            number = next(self._numbers) if self.is_shared else 0
            self._tenants[number] = tenant
            self.stage.share_log(len(self._tenants))
            return number

    def leave(self, number: int) -> None:
        """Take note that a tenant is gone; with the last of them the process ends, after a while if it may be used."""
        with self._lock:
            self._tenants.pop(number, None)
            self.stage.share_log(len(self._tenants))
            self._gone.append(number)
            if len(self._gone) > KEPT_LABELS:
                self.stage.labels.pop(self._gone.popleft(), None)
            if self._tenants or self._is_closed:
                return
            if self.is_shared and not self._is_retired:
                self._idle = threading.Timer(self._idle_seconds or 0, self._expire)
                self._idle.daemon = True
                self._idle.start()
                return
        self.close()

    def retire(self) -> None:
        """Take no further tenants: one of them hangs, or hung.

        Where the whole process stands still, what hangs holds the interpreter's lock say, those who live there could
        not go on. They hear that it has ended.
        """
        with self._lock:
            was_retired, self._is_retired = self._is_retired, True
        if self.is_shared and not was_retired:
            threading.Thread(target=self._watch, name=f"{self._name}-watch", daemon=True).start()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._is_closed = True
            self._wait_no_more()
        with contextlib.suppress(OSError):
            self.stage.close()

    def _watch(self) -> None:
        try:
            self.stage.call(Ping(), MUTE_SECONDS)
        except StageTimeout:
            log.warning("the process of %s stands still and is ended", self._name)
            self.stage.close(grace=0)
        except PluginError:
            return  # it has ended

    def _expire(self) -> None:
        """End the process, unless it was entered while this timer rang, and perhaps left to wait for another."""
        with self._lock:
            if self._idle is not threading.current_thread():
                return
            self._is_closed = True
        self.close()

    def _wait_no_more(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _answer(self, request: Request) -> None:
        tenant = self._tenants.get(request.tenant)
        if tenant is None:
            request.fail(ConnectError(f"nothing runs here, so {request.op!r} has no meaning"))
        else:
            request.answer(tenant.hear)

    def _on_death(self, stage: Stage) -> None:
        with self._lock:
            tenants = list(self._tenants.values())
            if self._is_closed:
                return
        silent = [each for each in tenants if not each.is_at_work]
        # Waiting for the process's last words takes a moment; the stage's reader thread is not to be held up.
        threading.Thread(target=self._tell_of_death, args=[stage, silent], daemon=True).start()

    def _tell_of_death(self, stage: Stage, tenants: list[PluginStage]) -> None:
        error = stage.died()
        if self.is_shared:
            log.warning("%s, which several connectors may share", error)
        for each in tenants:
            each.on_end(error, self.was_at_work)


class PluginStage:
    """What a tenant has of such a process: its calls run in their order, and wait for those of no other tenant.

    Who shares the process with others leaves it with `close`; who has it alone ends it.
    """

    def __init__(self, process: PluginProcess, hear: Hear | None = None, on_end: OnEnd | None = None) -> None:
        self._process = process
        self._hear = hear
        self._on_end = on_end
        self._unwanted: Future[None] = Future()
        self._lock = threading.Lock()
        self._under_way = 0
        self._is_hung = self._is_closed = False
        self._number = process.admit(self)

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

    def call(self, call: Call[R], seconds: float) -> R:
        """Return the answer; who waits for it is interrupted where somebody impatient waits behind him."""
        began = time.monotonic()
        with interruptible(lambda: self._give_up(call.op, began)):
            return self.insist(call, seconds)

    def insist(self, call: Call[R], seconds: float) -> R:
        """Return the answer to what has to be tried, whoever waits."""
        stage = self._process.stage
        if (label := current_label()) is not None:
            stage.labels[self._number] = label  # whoever asks is whom the plugin works for
        answer = stage.begin(call, self._number)
        with self._lock:
            self._under_way += 1
        answer.add_done_callback(self._note_answer)
        try:
            return stage.result(answer, call.op, seconds, self._unwanted)
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
            self._end_tenant()
            self._process.leave(self._number)

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

    def _end_tenant(self) -> None:
        stage = self._process.stage
        try:
            answer = stage.begin(EndTenant(), self._number)  # also where it hangs: it may come back after all
            if not self._is_hung:
                stage.result(answer, EndTenant.op, STOP_SECONDS)
        except StageTimeout:
            self._process.retire()
        except PluginError as error:
            log.debug("%s", error)  # with its process it is gone, too

    def _give_up(self, op: str, began: float) -> None:
        """End a call before its time, and be gone; the error tells what it was doing."""
        self._is_hung = True
        self._let_go(self._process.stage.timed_out(op, round(time.monotonic() - began, 1)))
        self.close()

    def _let_go(self, error: Exception) -> None:
        with self._lock:
            if not self._unwanted.done():
                self._unwanted.set_exception(error)
