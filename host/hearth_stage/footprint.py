"""Detects side effects of loading a plugin, which would otherwise surface as failures of other code."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass
class _Count:
    """Replaces standard output; counts the printed characters and passes them on."""

    output: Any
    characters: int = 0

    def write(self, text: str) -> int:
        """Count a text and pass it on."""
        self.characters += len(text)
        return int(self.output.write(text))

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the output."""
        return getattr(self.output, name)


@contextlib.contextmanager
def footprint() -> Iterator[list[str]]:
    """Yield a list that holds, after the block, a clause for each side effect of the block.

    Effects of native code are seen only where the system reports them: processes, but not threads.
    """
    changes: list[str] = []
    process, place, handlers, threads = os.getpid(), _place(), _handlers(), {*threading.enumerate()}
    children, output = _children(), sys.stdout
    counted = sys.stdout = _Count(output)
    try:
        yield changes
    finally:
        if sys.stdout is counted:
            sys.stdout = output
        else:
            changes.append("replaces the standard output")
    if os.getpid() != process or _children() - children:
        changes.append("starts a process")
    if started := {*threading.enumerate()} - threads:
        changes.append(f"starts a thread ({', '.join(sorted(each.name for each in started))})")
    if _place() != place:
        changes.append(f"changes the working directory to {_place()!r}")
    changes += [f"installs a handler of {name}" for name, handler in _handlers().items() if handler != handlers[name]]
    if counted.characters:
        changes.append("prints to the standard output")


def _place() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return ""


def _handlers() -> dict[str, Any]:
    return {number.name: signal.getsignal(number) for number in signal.Signals}


def _children() -> set[str]:
    """Return the child processes of this process, including ended ones that were not waited for; Linux only."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as children:
                found.update(children.read().split())
    return found
