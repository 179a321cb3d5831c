"""What ends a run from outside: a command of its host, or that the host is gone."""

from __future__ import annotations

import contextlib
import logging
import os
import threading

from hearth.foundation.log_context import about, current_label
from hearth.isolation.stage import Stage
from hearth.link.heartbeat import LAST_RESORT_SECONDS
from hearth.link.link_call import ENDS, Command
from hearth.runtime.event_queue import EventQueue
from hearth.runtime.link import HostLost
from hearth_api import ConnectError
from hearth_stage.plugin_call import Stopping

log = logging.getLogger(__name__)

HANGING_SECONDS = 5.0
"""How much longer than it may take to drain a task that was told to stop may hang."""


class RunEnd:
    """Tells a run that it is to end, and sees to it that it does, whatever it is held up by.

    It works on threads of its own while the run's waits for a plugin; the link's is never held up.
    """

    def __init__(self, task: str, event_queue: EventQueue) -> None:
        self._task, self.event_queue = task, event_queue
        self._label = current_label()
        self.begun = threading.Event()
        """Set when the run is to end: no record is tried again from then on."""
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._stages: list[Stage] = []
        self._lost: HostLost | None = None

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return self._over.is_set()

    def watch(self, stage: Stage) -> None:
        """Have this stage hear of the end, too; one that comes late hears at once that the host is gone."""
        with self._lock:
            self._stages.append(stage)
            if self._lost is not None:
                stage.let_go(self._lost)

    def guard(self, drain_seconds: float) -> None:
        """From now on end by force what hangs for longer than a task may take to drain."""
        threading.Thread(target=self._guard, args=(drain_seconds,), name="stop", daemon=True).start()

    def complete(self) -> None:
        """Note that the run has ended; its process may carry another from now on."""
        self._over.set()
        self.begun.set()

    def on_command(self, command: Command) -> None:
        """Pass a command on to the loop, and begin the end where it is one."""
        self.event_queue.put(command)
        if isinstance(command, ENDS):
            self.begun.set()

    def on_lost(self, reason: str = "the link to the host is gone") -> None:
        """End this run: by its own doing if that takes a moment, else by force, and its process with it.

        Whoever waits for a plugin, or to try a record again, hears at once. The stages die with the process. Runs that
        share it begin anew then: another run of this one's task may have begun elsewhere (invariant 4).
        """
        self.begun.set()
        self._let_go(HostLost(reason))
        threading.Thread(target=self._last_resort, name="last-resort", daemon=True).start()

    def _last_resort(self) -> None:
        if not self._over.wait(LAST_RESORT_SECONDS):
            with about(self._label):
                log.error("%s is ended by force, it did not end within %g s after its host was lost",
                          self._task, LAST_RESORT_SECONDS)  # fmt: skip
            os._exit(1)

    def _let_go(self, lost: HostLost) -> None:
        self.event_queue.put(lost)
        with self._lock:
            self._lost = lost
            for stage in self._stages:
                stage.let_go(lost)

    def _guard(self, drain_seconds: float) -> None:
        """End waits before the next attempt at a record, and in the end what hangs."""
        self.begun.wait()
        if self._over.is_set():
            return
        for stage in self._watched():
            with contextlib.suppress(ConnectError):
                stage.notify(Stopping())
        if not self._over.wait(drain_seconds + HANGING_SECONDS):
            with about(self._label):
                log.warning("the stage process of %s is ended by force: the task did not stop in time", self._task)
            for stage in self._watched():
                stage.kill()

    def _watched(self) -> list[Stage]:
        with self._lock:
            return list(self._stages)
