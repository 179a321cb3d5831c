"""How commands end that run until somebody stops them: in order, whoever asks.

A signal becomes a ``KeyboardInterrupt`` of the main thread, wherever that is, except in the midst of an import: the
interpreter's own lock would stay taken, and every other thread that imports something would wait for ever.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hearth.cli.exit_code import ExitCode

_AGAIN_SECONDS = 0.01
_IMPORT = "<frozen importlib"
"""What the files of the interpreter's import system are called in a stack."""


def interrupt_on_signals() -> None:
    """End in order at the first signal, at once at the second.

    A signal that who started this process had it ignore (``nohup``, a shell's background) stays ignored, as in Java.
    """
    seen: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if seen:
            os._exit(ExitCode.INTERRUPTED)
        seen.append(number)
        _interrupt(frame)

    _hear(interrupt)


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and a closed terminal as Ctrl-C, so that nothing is left behind; `nohup` keeps the second away."""
    before = _hear(lambda _number, frame: _interrupt(frame))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _hear(handler: Callable[[int, FrameType | None], None]) -> dict[signal.Signals, signal._HANDLER]:
    """Set the handler of what ends a process, and return those there were."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heard = [each for each in ends if signal.getsignal(each) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heard}


def _interrupt(frame: FrameType | None) -> None:
    if not _is_importing(frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, lambda _number, frame: _interrupt(frame))
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT):
            return True
        frame = frame.f_back
    return False
