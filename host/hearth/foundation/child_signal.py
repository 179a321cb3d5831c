"""Signals that a process takes in on one of its threads, and the programs that it starts, which hear them as ever.

To tell who has sent a signal it has to be blocked in all threads, and a program inherits that from the thread that
starts it.
"""

from __future__ import annotations

import functools
import signal
import subprocess
from collections.abc import Collection
from typing import Any

_begin = subprocess.Popen.__init__


class OwnProgram(subprocess.Popen[bytes]):
    """A program of ours: it lets signals in by itself, as soon as it can deal with them."""

    __init__ = _begin


def block(signals: Collection[signal.Signals]) -> None:
    """Keep signals from this thread and from those it starts, and from no program.

    They are let in while a program starts, so one may then reach the thread that does it. Python offers nothing
    closer, and libraries start programs as well.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)

    @functools.wraps(_begin)
    def begin(program: subprocess.Popen[Any], *arguments: Any, **options: Any) -> None:
        before = signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
        try:
            _begin(program, *arguments, **options)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    subprocess.Popen.__init__ = begin  # type: ignore[assignment, method-assign]


def let_in(signals: Collection[signal.Signals]) -> None:
    """Undo ``block`` for this thread."""
    subprocess.Popen.__init__ = _begin  # type: ignore[method-assign]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
