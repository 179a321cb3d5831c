"""Ends what the main thread does by an exception, wherever a signal has found it.

There are places where that has to come a moment later. What is raised in the midst of an import leaves a lock of the
interpreter's taken now and then, and every other thread that imports something waits for ever. In the midst of making
or removing a temporary directory, it leaves that behind. And what is raised in a destructor or a callback that the
interpreter calls is dropped by it, and the thread goes on.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

_LATER_SECONDS = 0.01
_WHOLE = ("<frozen importlib", os.path.join(os.path.dirname(os.__file__), "tempfile.py"), __file__)
"""How the files begin, as a stack has them, of what is not interrupted: also this one, for what is raised while the
interpreter tells of what it drops is dropped without another word."""


def unwind(frame: FrameType | None, kind: type[BaseException], *given: object) -> None:
    """Raise in the main thread, now or as soon as it helps; for the handler of a signal, which has the frame."""
    tell = sys.unraisablehook

    def hear(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is kind and threading.current_thread() is threading.main_thread():
            _unwind_later(kind, *given)
        else:
            tell(dropped)

    sys.unraisablehook = hear
    _unwind(frame, kind, *given)


def cancel_unwinding() -> None:
    """Do not raise any more what is still to come."""
    signal.setitimer(signal.ITIMER_REAL, 0)


def _unwind(frame: FrameType | None, kind: type[BaseException], *given: object) -> None:
    if not _is_within(_WHOLE, frame):
        raise kind(*given)
    _unwind_later(kind, *given)


def _unwind_later(kind: type[BaseException], *given: object) -> None:
    signal.signal(signal.SIGALRM, lambda _number, frame: _unwind(frame, kind, *given))
    signal.setitimer(signal.ITIMER_REAL, _LATER_SECONDS)


def _is_within(files: tuple[str, ...], frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(files):
            return True
        frame = frame.f_back
    return False
