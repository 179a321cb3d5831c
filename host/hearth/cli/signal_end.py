"""How commands end that run until somebody stops them: in order, whoever asks, unless it is a plugin."""

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
"""When the main thread is interrupted again: it may just have begun to wait, and does not see that it was."""
_BY_PROCESS = 0
"""The highest code of a signal that says which process has sent it."""

log = logging.getLogger(__name__)


class EndSignals:
    """Interrupts the main thread by KeyboardInterrupt when this process is told to end.

    A thread takes the signals in, for only so is it known who has sent one: what a stage sends, or anything that it
    has started, is logged and has no effect. Where it is not known, because a thread was there before or starts a
    program, or the system does not say, the signal counts. One that who started this process had it ignore
    (``nohup``, a shell's background) stays ignored, as in Java.
    """

    def __init__(self, *, ends_at_second: bool) -> None:
        """Begin, on the main thread; the second signal ends the process at once where it is said so."""
        self._ends_at_second = ends_at_second
        self._has_been_told = False
        self._is_over = False
        self._is_heard = threading.Event()
        self._heard = [each for each in _ENDS if signal.getsignal(each) is not signal.SIG_IGN]
        self._before = {number: signal.signal(number, self._hear) for number in self._heard}
        self._thread: threading.Thread | None = None
        if self._heard and hasattr(signal, "sigwaitinfo"):
            self._before[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._interrupt)
            block(self._heard)
            self._thread = threading.Thread(target=self._take_in, name="signals", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Leave signals to whoever had them before."""
        self._is_over = True
        if self._thread is not None:
            signal.pthread_kill(self._thread.ident or 0, self._heard[0])
            self._thread.join()
            let_in(self._heard)
        cancel_unwinding()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take_in(self) -> None:
        while True:
            told = signal.sigwaitinfo(self._heard)
            if self._is_over:
                return
            sender = told.si_pid if told.si_code <= _BY_PROCESS else 0
            if (stage := stage_of(sender)) is not None:
                name = signal.Signals(told.si_signo).name
                log.warning(
                    "%s does not end this process: process %d of the stage %s has sent it", name, sender, stage
                )
            else:
                is_first = not self._has_been_told
                self._end_at_second()
                self._is_heard.clear()
                self._wake_main_thread()
                while is_first and not self._is_heard.wait(_AGAIN_SECONDS):
                    self._wake_main_thread()

    @staticmethod
    def _wake_main_thread() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def _hear(self, _number: int, frame: FrameType | None) -> None:
        self._end_at_second()
        unwind(frame, KeyboardInterrupt)

    def _interrupt(self, _number: int, frame: FrameType | None) -> None:
        if not self._is_heard.is_set():
            self._is_heard.set()
            unwind(frame, KeyboardInterrupt)

    def _end_at_second(self) -> None:
        if self._has_been_told and self._ends_at_second:
            os._exit(ExitCode.INTERRUPTED)
        self._has_been_told = True


_until_the_end: list[EndSignals] = []


def interrupt_on_signals() -> None:
    """End in order at the first signal, at once at the second; from now on, and it may be said again."""
    if not _until_the_end:
        _until_the_end.append(EndSignals(ends_at_second=True))


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and a closed terminal as Ctrl-C, so that nothing is left behind."""
    signals = EndSignals(ends_at_second=False)
    try:
        yield
    finally:
        signals.close()
