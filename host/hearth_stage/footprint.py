"""What loading a plugin does to its process that nobody would notice before somebody else's code suffers from it."""

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
    """Stands in the place of the standard output and counts what is printed, which goes where it did."""

    output: Any
    characters: int = 0

    def write(self, text: str) -> int:
        """Count a text and pass it on."""
        self.characters += len(text)
        return int(self.output.write(text))

    def __getattr__(self, name: str) -> Any:
        """Be the output in everything else."""
        return getattr(self.output, name)


@contextlib.contextmanager
def footprint() -> Iterator[list[str]]:
    """Yield a list that has, when the block is over, a clause for each change that it made to the process.

    What takes place in native code is seen where the system tells it: processes, but no threads.
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
            changes.append("puts something else in the place of the standard output")
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
    """Return the processes that this one has started, ended ones that nobody waited for among them; Linux tells."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as children:
                found.update(children.read().split())
    return found
