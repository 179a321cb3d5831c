"""Ends a run from outside: on a command of its host, or when the host is lost."""

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
"""Extra seconds, beyond the time for draining, before a stopping task is killed."""


class RunEnd:
    """Tells a run to end, and enforces it when a plugin blocks.

    It works on its own threads while the run's thread waits for a plugin; the link's thread is never blocked.
    """

    def __init__(self, task: str, event_queue: EventQueue) -> None:
        self._task, self.event_queue = task, event_queue
        self._label = current_label()
        self.begun = threading.Event()
        """Set when the run should end: no record is retried from then on."""
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._stages: list[Stage] = []
        self._lost: HostLost | None = None

    @property
    def is_over(self) -> bool:
        """Return whether the run has ended."""
        return self._over.is_set()

    def watch(self, stage: Stage) -> None:
        """Notify this stage of the end too; immediately, if the host is already lost."""
        with self._lock:
            self._stages.append(stage)
            if self._lost is not None:
                stage.let_go(self._lost)

    def guard(self, drain_seconds: float) -> None:
        """Start the thread that kills what hangs for longer than a task may take to drain."""
        threading.Thread(target=self._guard, args=(drain_seconds,), name="stop", daemon=True).start()

    def complete(self) -> None:
        """Mark the run as ended; its process may run another from now on."""
        self._over.set()
        self.begun.set()

    def on_command(self, command: Command) -> None:
        """Pass a command to the loop, and start the end if it is a stop."""
        self.event_queue.put(command)
        if isinstance(command, ENDS):
            self.begun.set()

    def on_lost(self, reason: str = "the link to the host is gone") -> None:
        """End this run because its host is lost: gracefully if that is quick, else by killing the process.

        Waits for a plugin or a retry end at once. The stages die with the process. Other runs in the process restart
        then: another run of this task may have started elsewhere (invariant 4).
        """
        self.begun.set()
        self._let_go(HostLost(reason))
        threading.Thread(target=self._last_resort, name="last-resort", daemon=True).start()

    def _last_resort(self) -> None:
        if not self._over.wait(LAST_RESORT_SECONDS):
            with about(self._label):
                log.error("the process of %s is killed: the run did not end within %g s after its host was lost",
                          self._task, LAST_RESORT_SECONDS)  # fmt: skip
            os._exit(1)

    def _let_go(self, lost: HostLost) -> None:
        self.event_queue.put(lost)
        with self._lock:
            self._lost = lost
            for stage in self._stages:
                stage.let_go(lost)

    def _guard(self, drain_seconds: float) -> None:
        """End waits for the next retry, and kill what hangs after the timeout."""
        self.begun.wait()
        if self._over.is_set():
            return
        for stage in self._watched():
            with contextlib.suppress(ConnectError):
                stage.notify(Stopping())
        if not self._over.wait(drain_seconds + HANGING_SECONDS):
            with about(self._label):
                log.warning("the stage process of %s is killed: the task did not stop in time", self._task)
            for stage in self._watched():
                stage.kill()

    def _watched(self) -> list[Stage]:
        with self._lock:
            return list(self._stages)
