"""How commands end that run until somebody stops them: in order, whoever asks."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from hearth.cli.exit_code import ExitCode
from hearth.foundation.unwinding import cancel_unwinding, unwind


def interrupt_on_signals() -> None:
    """End in order at the first signal, at once at the second.

    A signal that who started this process had it ignore (``nohup``, a shell's background) stays ignored, as in Java.
    """
    seen: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if seen:
            os._exit(ExitCode.INTERRUPTED)
        seen.append(number)
        unwind(frame, KeyboardInterrupt)

    _hear(interrupt)


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and a closed terminal as Ctrl-C, so that nothing is left behind; `nohup` keeps the second away."""
    before = _hear(lambda _number, frame: unwind(frame, KeyboardInterrupt))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        cancel_unwinding()


def _hear(handler: Callable[[int, FrameType | None], None]) -> dict[signal.Signals, signal._HANDLER]:
    """Set the handler of what ends a process, and return those there were."""
    ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    heard = [each for each in ends if signal.getsignal(each) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heard}
