"""Processor time of the task's executor: the sum of all its processes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from hearth.link.link_call import ExecutorUsage

EXECUTOR = "HEARTH_EXECUTOR"
"""Environment variable with the process id of the executor, set by Spark's daemon for the processes it forks."""
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def executor_usage() -> ExecutorUsage:
    """Measure the executor; takes about 10 ms with hundreds of processes.

    Systems without ``/proc`` report nothing.
    """
    root = int(os.environ.get(EXECUTOR) or os.getpid())
    found = dict(_processes())
    if root not in found:
        return ExecutorUsage(None, 0.0, time.monotonic())
    tree = [root]
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in found.items():
        children.setdefault(parent, []).append(pid)
    for pid in tree:  # grows during the iteration
        tree += children.get(pid, [])
    seconds = sum(found[pid][1] for pid in tree) / _TICKS
    return ExecutorUsage(seconds, float(_processors()), time.monotonic())


def _processes() -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield each process with its parent and its CPU ticks, including those of its ended children."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(_PROC):
            if entry.name.isdigit():
                with contextlib.suppress(OSError):  # it has just ended
                    text = Path(entry.path, "stat").read_text(errors="replace")
                    fields = text[text.rindex(")") + 2 :].split()
                    yield int(entry.name), (int(fields[1]), sum(map(int, fields[11:15])))


def _processors() -> int:
    """Return how many processors this process may use, by its CPU affinity."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
