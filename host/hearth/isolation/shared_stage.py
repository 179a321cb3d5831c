"""Stage processes that several tenants share; each tenant has its own number, thread and plugins."""

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
from hearth.isolation.stage import Stage, StageTimeout
from hearth.isolation.stage_connection import PLAIN, StageKind
from hearth_api import ConnectError, PluginError
from hearth_stage.channel import Request
from hearth_stage.plugin_call import EndTenant, Ping

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
MUTE_SECONDS = 30.0
"""How long a process with a timed-out call may answer nothing before it is killed."""
KEPT_LABELS = 100
"""How many closed tenants keep their log label, for lines that are still in transit."""

_starting = threading.BoundedSemaphore(8)
"""Limits concurrent starts, as more would only wait for processors; no plugin code runs before a start ends."""


class ProcessFull(ConnectError):
    """A process accepts no more tenants: it has ended, is about to, or accepts only one."""


class TenantConnection(Protocol):
    """A tenant of a stage process, on this side of the connection."""

    @property
    def is_at_work(self) -> bool:
        """Return whether a caller waits for an answer, or did when the process ended; that caller gets the error."""

    def take(self, request: Request) -> None:
        """Handle a message of its plugins, on the process's reader thread; returns at once and never raises."""

    def on_end(self, error: PluginError, is_known: bool) -> None:
        """Report that the process has ended, and whether it is known which tenants had a call open."""


class SharedStage:
    """A process in one environment, for one tenant or several.

    Invariant 6: the host never imports plugin code. The process ends with `close`, whatever a plugin does, and with
    this process; a shared one also ends after it had no tenant for a while. After a call has timed out it accepts no
    more tenants, because the hanging call stays, while its current tenants continue.
    """

    def __init__(
        self,
        environment: Environment,
        name: str,
        idle_seconds: float | None = None,
        kind: StageKind = PLAIN,
    ) -> None:
        """``idle_seconds`` is how long a shared process waits for tenants; without it, the process has one tenant."""
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
        """Whether a caller waited for an answer when the process ended."""
        with _starting:
            self.stage = Stage.start(environment, name, self._answer, self._on_death, kind)
        self.is_shared = idle_seconds is not None and self.stage.takes_tenants

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._is_closed and self.stage.is_alive

    @property
    def has_room(self) -> bool:
        """Return whether it accepts another tenant."""
        return self.is_alive and not self._is_retired and (self.is_shared or not self._tenants)

    def admit(self, tenant: TenantConnection) -> int:
        """Return the number of a new tenant, 0 for one that has its own process; raises ProcessFull."""
        with self._lock:
            if not self.has_room:
                raise ProcessFull(f"the process of {self._name} accepts no more tenants")
            self._wait_no_more()
            number = next(self._numbers) if self.is_shared else 0
            self._tenants[number] = tenant
            self.stage.connection.share_log(len(self._tenants))
            return number

    def dismiss(self, number: int, *, hangs: bool) -> None:
        """Stop the plugins of a tenant, unless one of them ``hangs``, and remove the tenant."""
        try:
            answer = self.stage.connection.channel.begin(EndTenant(), number)  # a hanging call may still return
            if not hangs:
                self.stage.result(answer, EndTenant.op, STOP_SECONDS)
        except StageTimeout:
            self.retire()
        except ConnectError as error:
            log.debug("%s", error)  # the process has ended, and the tenant with it
        self.leave(number)

    def leave(self, number: int) -> None:
        """Remove a tenant; after the last one the process ends, at once or after its idle time."""
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
        """Accept no more tenants, because a call hangs or hung.

        If the whole process hangs, for example in a plugin that holds the interpreter's lock, no tenant can continue:
        the process is killed and they are notified.
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
        """Kill the process unless it answers a ping; even sending the ping may block."""
        timer = threading.Timer(MUTE_SECONDS, self._end_mute)
        timer.daemon = True
        timer.start()
        with contextlib.suppress(PluginError):  # it has ended
            self.stage.call(Ping())
        timer.cancel()

    def _end_mute(self) -> None:
        log.warning("the process of %s does not respond, killing it", self._name)
        self.stage.kill()

    def _expire(self) -> None:
        """End the process, unless a tenant joined after this timer fired or another timer replaced it."""
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
            request.fail(ConnectError(f"no plugin is loaded, so {request.op!r} cannot be answered"))
        else:
            tenant.take(request)

    def _on_death(self, stage: Stage) -> None:
        with self._lock:
            tenants = list(self._tenants.values())
            if self._is_closed:
                return
        silent = [each for each in tenants if not each.is_at_work]
        # Reading the process's last words takes a moment and must not block the stage's reader thread.
        threading.Thread(target=self._notify_of_death, args=[stage, silent], daemon=True).start()

    def _notify_of_death(self, stage: Stage, tenants: list[TenantConnection]) -> None:
        error = stage.died()
        if self.is_shared:
            log.warning("%s, which several tenants may share", error)
        for each in tenants:
            each.on_end(error, self.was_at_work)


class SharedStages:
    """The shared processes, one per environment; starts a new one when the current one accepts no tenant."""

    def __init__(self, start: Callable[[Environment, str], SharedStage]) -> None:
        self._start = start
        self._shared: dict[Environment, Future[SharedStage]] = {}
        self._made: weakref.WeakSet[SharedStage] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def open(self, environment: Environment, name: str) -> SharedStage:
        """Return the shared process of an environment, a new one if the current one accepts no more tenants."""
        with self._lock:
            known = self._shared.get(environment)
            is_new = known is None or (known.done() and (known.exception() or not known.result().has_room))
            if known is None or is_new:
                known = self._shared[environment] = Future()
        if is_new:
            fulfil(known, lambda: self.keep(self._start(environment, environment.bundle or name)))
        return known.result()

    def keep(self, process: SharedStage) -> SharedStage:
        """Register a process, shared or not, that is closed together with all others."""
        with self._lock:
            self._made.add(process)
            if not self._is_closed:
                return process
        process.close()  # nothing else would end it
        raise ConnectError("the host is stopping", code="host.stopping")

    def close(self) -> None:
        """End all processes, including one with a hanging plugin."""
        with self._lock:
            self._is_closed = True
            made = list(self._made)
        if made:
            with ThreadPoolExecutor(len(made), thread_name_prefix="close") as threads:
                for process in made:
                    threads.submit(process.close)
