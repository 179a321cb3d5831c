"""Raises an exception in the main thread from a signal handler, at a safe point.

In some places the exception has to wait. Raised during an import, it can leave an import lock taken, and every other
thread that imports something waits forever. Raised while a temporary directory is created or removed, it can leave the
directory behind. Raised in a destructor or a callback of the interpreter, it is dropped, and the thread continues.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

_LATER_SECONDS = 0.01
_WHOLE = ("<frozen importlib", os.path.join(os.path.dirname(os.__file__), "tempfile.py"), __file__)
"""Prefixes of the files of code that is not interrupted. This file is one of them: an exception in the interpreter's
hook for dropped exceptions would be dropped as well."""


def unwind(frame: FrameType | None, kind: type[BaseException], *given: object) -> None:
    """Raise an exception in the main thread now, or once it is safe; called by a signal handler with its frame."""
    previous_hook = sys.unraisablehook

    def on_dropped(dropped: sys.UnraisableHookArgs) -> None:
        if dropped.exc_type is kind and threading.current_thread() is threading.main_thread():
            _unwind_later(kind, *given)
        else:
            previous_hook(dropped)

    sys.unraisablehook = on_dropped
    _unwind(frame, kind, *given)


def cancel_unwinding() -> None:
    """Cancel an exception that is still pending."""
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
