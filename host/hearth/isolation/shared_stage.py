"""Stage processes that several share: each is a tenant, with a number, a thread and plugins of its own there."""

from __future__ import annotations

import contextlib
import itertools
import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from hearth.foundation.future import fulfil
from hearth.isolation.environment import Environment
from hearth.isolation.stage import FRAME_BYTES, Stage, StageTimeout
from hearth_api import ConnectError, PluginError
from hearth_stage.channel import Request
from hearth_stage.plugin_call import EndTenant, Ping

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
MUTE_SECONDS = 30.0
"""How long a process in which a call took too long may leave everybody without a sign of life."""
KEPT_LABELS = 100
"""How many tenants that are gone are remembered, whose last lines may be on their way to the log."""

_starting = threading.BoundedSemaphore(8)
"""So many processes start at once, more would only wait for processors; until one has started no plugin has a say."""


class ProcessFull(ConnectError):
    """A process takes no further tenant: it has ended or is about to, or it takes but one."""


class TenantConnection(Protocol):
    """One of those who share a stage process, on this side of the connection."""

    @property
    def is_at_work(self) -> bool:
        """Return whether somebody waits for an answer, or did when the process ended: he hears of the end by that."""

    def take(self, request: Request) -> None:
        """Take what its plugins ask or tell, on the process's reader thread; returns at once and raises nothing."""

    def on_end(self, error: PluginError, is_known: bool) -> None:
        """Hear that the process has ended, and whether it is known who was asked something then."""


class SharedStage:
    """A process in one environment, in which several may have plugins, or one alone.

    Invariant 6: their code is never imported here. The process ends with `close`, whatever a plugin does, and with
    this process; one that is shared also when it has had no tenant for a while. One in which a call took too long
    takes no further tenants, because what hangs there stays, and those that it has go on.
    """

    def __init__(
        self,
        environment: Environment,
        name: str,
        idle_seconds: float | None = None,
        frame_limit: int = FRAME_BYTES,
        has_columns: bool = False,
    ) -> None:
        """``idle_seconds`` is how long it waits for tenants that share it; without, it is for one."""
        self.environment = environment
        self._name = name
        self._idle_seconds = idle_seconds
        self._idle: threading.Timer | None = None
        self._lock = threading.Lock()
        self._tenants: dict[int, TenantConnection] = {}
        self._gone: deque[int] = deque()
        self._numbers = itertools.count(1)
        self._is_retired = self._is_closed = False
        self.was_at_work = False
        """Whether somebody waited for an answer when the process ended."""
        with _starting:
            self.stage = Stage.start(
                environment, name, self._answer, self._on_death, frame_limit, has_columns=has_columns
            )
        self.is_shared = idle_seconds is not None and self.stage.takes_tenants

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._is_closed and self.stage.is_alive

    @property
    def has_room(self) -> bool:
        """Return whether it takes a further tenant."""
        return self.is_alive and not self._is_retired and (self.is_shared or not self._tenants)

    def admit(self, tenant: TenantConnection) -> int:
        """Return the number of a new tenant, 0 for one that has the process to itself; raises ProcessFull."""
        with self._lock:
            if not self.has_room:
                raise ProcessFull(f"the process of {self._name} takes no further tenant")
            self._wait_no_more()
            number = next(self._numbers) if self.is_shared else 0
            self._tenants[number] = tenant
            self.stage.connection.share_log(len(self._tenants))
            return number

    def dismiss(self, number: int, *, hangs: bool) -> None:
        """End a tenant, whose plugins are stopped first unless one of them ``hangs``; then it has left."""
        try:
            answer = self.stage.connection.channel.begin(EndTenant(), number)  # where it hangs it may come back
            if not hangs:
                self.stage.result(answer, EndTenant.op, STOP_SECONDS)
        except StageTimeout:
            self.retire()
        except ConnectError as error:
            log.debug("%s", error)  # with its process it is gone, too
        self.leave(number)

    def leave(self, number: int) -> None:
        """Take note that a tenant is gone; with the last of them the process ends, after a while if it may be used."""
        with self._lock:
            self._tenants.pop(number, None)
            self.stage.connection.share_log(len(self._tenants))
            self._gone.append(number)
            if len(self._gone) > KEPT_LABELS:
                self.stage.connection.labels.pop(self._gone.popleft(), None)
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
        """End the process unless it answers; it may not even take in a question."""
        timer = threading.Timer(MUTE_SECONDS, self._end_mute)
        timer.daemon = True
        timer.start()
        with contextlib.suppress(PluginError):  # it has ended
            self.stage.call(Ping())
        timer.cancel()

    def _end_mute(self) -> None:
        log.warning("the process of %s stands still and is ended", self._name)
        self.stage.kill()

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
            tenant.take(request)

    def _on_death(self, stage: Stage) -> None:
        with self._lock:
            tenants = list(self._tenants.values())
            if self._is_closed:
                return
        silent = [each for each in tenants if not each.is_at_work]
        # Waiting for the process's last words takes a moment; the stage's reader thread is not to be held up.
        threading.Thread(target=self._tell_of_death, args=[stage, silent], daemon=True).start()

    def _tell_of_death(self, stage: Stage, tenants: list[TenantConnection]) -> None:
        error = stage.died()
        if self.is_shared:
            log.warning("%s, which several may share", error)
        for each in tenants:
            each.on_end(error, self.was_at_work)


class SharedStages:
    """The processes that are shared, one for each environment, started where there is none that takes a tenant."""

    def __init__(self, start: Callable[[Environment, str], SharedStage]) -> None:
        self._start = start
        self._shared: dict[Environment, Future[SharedStage]] = {}
        self._made: weakref.WeakSet[SharedStage] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def open(self, environment: Environment, name: str) -> SharedStage:
        """Return the process that is shared by all of an environment, started anew where it takes nobody any more."""
        with self._lock:
            known = self._shared.get(environment)
            is_new = known is None or (known.done() and (known.exception() or not known.result().has_room))
            if known is None or is_new:
                known = self._shared[environment] = Future()
        if is_new:
            fulfil(known, lambda: self.keep(self._start(environment, environment.bundle or name)))
        return known.result()

    def keep(self, process: SharedStage) -> SharedStage:
        """Have a process end with all others, one that is somebody's own as well."""
        with self._lock:
            self._made.add(process)
            if not self._is_closed:
                return process
        process.close()  # nobody would end it
        raise ConnectError("the host is stopping", code="host.stopping")

    def close(self) -> None:
        """End all processes, also one whose plugin hangs in a call."""
        with self._lock:
            self._is_closed = True
            made = list(self._made)
        if made:
            with ThreadPoolExecutor(len(made), thread_name_prefix="close") as threads:
                for process in made:
                    threads.submit(process.close)
