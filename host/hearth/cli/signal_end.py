"""Ends long-running commands on signals: in order, and not on signals that a plugin sends."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hearth.cli.exit_code import ExitCode
from hearth.foundation.child_signal import block, let_in
from hearth.foundation.unwinding import cancel_unwinding, unwind
from hearth.isolation.stage_lineage import stage_of

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_SECONDS = 0.5
"""When the main thread is interrupted again: it misses a signal that arrives just before it starts to wait."""
_BY_PROCESS = 0
"""Signals with an ``si_code`` up to this carry the process id of their sender."""

log = logging.getLogger(__name__)


class EndSignals:
    """Raises KeyboardInterrupt in the main thread when the process receives a signal to end.

    A thread receives the signals with ``sigwaitinfo``, the only way to learn their sender: a signal from a stage, or
    from a process that it has started, is logged and has no effect. A signal of unknown sender counts; that happens
    if a thread existed before or starts a program, or if the system does not report the sender. A signal that was
    ignored when this process started (``nohup``, a shell's background job) stays ignored, as in Java.
    """

    def __init__(self, *, ends_at_second: bool) -> None:
        """Install the handlers, on the main thread; with ``ends_at_second`` the second signal exits at once."""
        self._ends_at_second = ends_at_second
        self._is_ending = False
        self._is_closed = False
        self._is_delivered = threading.Event()
        self._signals = [each for each in _ENDS if signal.getsignal(each) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._handle) for number in self._signals}
        self._thread: threading.Thread | None = None
        if self._signals and hasattr(signal, "sigwaitinfo"):
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._interrupt)
            block(self._signals)
            self._thread = threading.Thread(target=self._receive, name="signals", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Restore the previous handlers."""
        self._is_closed = True
        if self._thread is not None:
            signal.pthread_kill(self._thread.ident or 0, self._signals[0])
            self._thread.join()
            let_in(self._signals)
        cancel_unwinding()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _receive(self) -> None:
        while True:
            received = signal.sigwaitinfo(self._signals)
            if self._is_closed:
                return
            sender = received.si_pid if received.si_code <= _BY_PROCESS else 0
            if (stage := stage_of(sender)) is not None:
                name = signal.Signals(received.si_signo).name
                log.warning("ignoring %s: it was sent by process %d of the stage %s", name, sender, stage)
            else:
                is_first = not self._is_ending
                self._end_at_second()
                self._is_delivered.clear()
                self._wake_main_thread()
                while is_first and not self._is_delivered.wait(_AGAIN_SECONDS):
                    self._wake_main_thread()

    @staticmethod
    def _wake_main_thread() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def _handle(self, _number: int, frame: FrameType | None) -> None:
        self._end_at_second()
        unwind(frame, KeyboardInterrupt)

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        if not self._is_delivered.is_set():
            self._is_delivered.set()
            unwind(frame, KeyboardInterrupt)

    def _end_at_second(self) -> None:
        if self._is_ending and self._ends_at_second:
            os._exit(ExitCode.INTERRUPTED)
        self._is_ending = True


_until_the_end: list[EndSignals] = []


def interrupt_on_signals() -> None:
    """End in order at the first signal and at once at the second, from now on; repeated calls are harmless."""
    if not _until_the_end:
        _until_the_end.append(EndSignals(ends_at_second=True))


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP as Ctrl-C within the block, so that everything is cleaned up."""
    signals = EndSignals(ends_at_second=False)
    try:
        yield
    finally:
        signals.close()
