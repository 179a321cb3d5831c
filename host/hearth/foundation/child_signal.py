"""Blocks signals in all threads of this process, but not in the programs that it starts.

The sender of a signal is known only if the signal is blocked in all threads and received with ``sigwaitinfo``, and a
program inherits blocked signals from the thread that starts it.
"""

from __future__ import annotations

import functools
import signal
import subprocess
from collections.abc import Collection
from typing import Any

_begin = subprocess.Popen.__init__


class OwnProgram(subprocess.Popen[bytes]):
    """A program of Hearth, which unblocks signals itself as soon as it can handle them."""

    __init__ = _begin


def block(signals: Collection[signal.Signals]) -> None:
    """Block signals in this thread and in threads that it starts, but not in programs.

    Signals are unblocked while a program starts, so one may reach the starting thread. Python offers nothing more
    precise, and libraries start programs as well.
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
    """Undo ``block`` in this thread."""
    subprocess.Popen.__init__ = _begin  # type: ignore[method-assign]
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
