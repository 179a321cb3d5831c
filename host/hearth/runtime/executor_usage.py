"""What the executor in which a task runs takes of its machine's processors: all of its processes together."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from hearth.link.link_call import ExecutorUsage

EXECUTOR = "HEARTH_EXECUTOR"
"""The variable in which Spark's daemon leaves the process id of its executor to all that is forked from it."""
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def executor_usage() -> ExecutorUsage:
    """Measure the executor; it takes some ten milliseconds where it has hundreds of processes.

    On systems without ``/proc`` nothing is known.
    """
    root = int(os.environ.get(EXECUTOR) or os.getpid())
    found = dict(_processes())
    if root not in found:
        return ExecutorUsage(None, 0.0, time.monotonic())
    tree = [root]
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in found.items():
        children.setdefault(parent, []).append(pid)
    for pid in tree:  # grows while it is gone through
        tree += children.get(pid, [])
    seconds = sum(found[pid][1] for pid in tree) / _TICKS
    return ExecutorUsage(seconds, float(_processors()), time.monotonic())


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield of each process its parent and its CPU, with that of its children that have ended, in ticks."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(_PROC):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # it has just ended
                    text = Path(entry.path, "stat").read_text(errors="replace")
                    fields = text[text.rindex(")") + 2 :].split()
                    yield int(entry.name), (int(fields[1]), sum(map(int, fields[11:15])))


def _processors() -> int:
    """Return how many processors this process may use, as far as the kernel says so by its affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
