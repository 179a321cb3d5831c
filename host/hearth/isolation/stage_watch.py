"""Looks at what a stage process takes of memory and processors, and keeps it to its limits.

Linux has no such limits for a single process: those of address space (``RLIMIT_AS``, ``RLIMIT_DATA``) are none of
memory, for Arrow and threads reserve far more than they use. So whoever owns a stage looks: the sooner the nearer it
is to a limit, and once a second where it does nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hearth_stage.limit import MEMORY, Limits
from hearth_stage.lineage import lineage_of, members

BYTES_PER_SECOND = 2 << 30
"""How fast a process takes memory that does nothing else; what it takes between two looks nobody stops."""
LONGEST_SECONDS, SHORTEST_SECONDS = 1.0, 0.02
BUSY_SECONDS = 0.1
"""Between two looks at a process whose processor time is limited and that takes some."""
BURST_SECONDS = 0.25
"""For how long a process may save what it did not take of processors."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = ("RssAnon:", "RssShmem:", "VmSwap:")
_PART_OF_MEMORY = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
"""Of what several processes share each counts its part: those forked from one share most of what they have."""


@dataclass(frozen=True)
class Usage:
    """What a process and those it has started have of memory, and have taken of processors, all together."""

    memory_bytes: int
    cpu_seconds: float


@dataclass(frozen=True)
class LimitDecision:
    """What is to be done: end the process because of an ``excess``, or hold it up, and when to look again."""

    next_look: float
    pause: float = 0.0
    excess: str = ""


class UsageBudget:
    """What a process may still take; told at a time, by a clock that goes steadily, what it has taken."""

    def __init__(self, limits: Limits, now: float, usage: Usage) -> None:
        self._limits = limits
        self._time, self._taken = now, usage.cpu_seconds
        self._saved = 0.0
        self._next_look = SHORTEST_SECONDS

    def judge(self, now: float, usage: Usage) -> LimitDecision:
        """Judge what has been taken since the last time."""
        most, cpus = self._limits.memory_bytes, self._limits.cpus
        if most is not None and usage.memory_bytes > most:
            taken = f"{usage.memory_bytes} bytes of memory"
            return LimitDecision(0.0, excess=f"it used {taken}, more than {MEMORY}={most}")
        took = max(0.0, usage.cpu_seconds - self._taken)  # less where a process that was counted has ended
        pause = 0.0 if cpus is None else self._pause(cpus, now - self._time, took)
        self._time, self._taken = now, usage.cpu_seconds
        if not took:
            self._next_look *= 2
        else:
            self._next_look = LONGEST_SECONDS if cpus is None else BUSY_SECONDS
            if most is not None:
                self._next_look = min(self._next_look, (most - usage.memory_bytes) / BYTES_PER_SECOND)
        self._next_look = min(max(self._next_look, SHORTEST_SECONDS), LONGEST_SECONDS)
        return LimitDecision(self._next_look, pause)

    def _pause(self, cpus: float, seconds: float, took: float) -> float:
        """Return for how long to hold a process up that took so much of processors in so many seconds."""
        self._saved = min(self._saved + cpus * seconds - took, cpus * BURST_SECONDS)
        return max(0.0, -self._saved / cpus)


class Watch:
    """A thread that looks at one process until it has ended or nobody wants to know any more.

    ``on_excess`` is told, on that thread, in which way the process has gone too far; it is to end it.
    """

    def __init__(self, pid: int, limits: Limits, on_excess: Callable[[str], None]) -> None:
        self._pid = pid
        self._limits = limits
        self._on_excess = on_excess
        self._is_over = threading.Event()
        threading.Thread(target=self._execute, name=f"watch-{pid}", daemon=True).start()

    def end(self) -> None:
        """Look no more; a process that is held up goes on."""
        self._is_over.set()

    def _execute(self) -> None:
        with contextlib.suppress(ProcessLookupError), _descriptor(self._pid) as process:
            most = self._limits.memory_bytes
            budget = UsageBudget(self._limits, time.monotonic(), usage_of(self._pid, most))
            judgement = LimitDecision(SHORTEST_SECONDS)
            while not self._is_over.wait(judgement.next_look):
                judgement = budget.judge(time.monotonic(), usage_of(self._pid, most))
                if judgement.excess:
                    self._on_excess(judgement.excess)
                    return
                if judgement.pause:
                    self._hold_up(process, judgement.pause)

    def _hold_up(self, process: int, seconds: float) -> None:
        """Stop the process and all that it has started for a while."""
        signal.pidfd_send_signal(process, signal.SIGSTOP)  # raises where it has ended, and its number may be another's
        others = _others(self._pid)
        try:
            _send(others, signal.SIGSTOP)
            self._is_over.wait(seconds)
        finally:
            signal.pidfd_send_signal(process, signal.SIGCONT)
            _send(others, signal.SIGCONT)


def usage_of(pid: int, most: int | None = None) -> Usage:
    """Return what a stage process and all that it has started take, with daemons.

    Memory is what nobody but they gave it: not files that it has mapped. What they share, with each other or with what
    they were forked from, is told apart where it would be more than ``most`` otherwise, for that takes a while. Raises
    ProcessLookupError where the process has ended.
    """
    everyone = [pid, *_others(pid)]
    memory = _sum(_memory, everyone)
    if most is not None and memory > most:
        memory = _sum(_part_of_memory, everyone)
    return Usage(memory, _sum(_ticks, everyone) / _TICKS)


def _sum(part: Callable[[int], int], everyone: list[int]) -> int:
    """Return what all processes take together, of which only the first has to be there."""
    total = part(everyone[0])
    for each in everyone[1:]:
        with contextlib.suppress(ProcessLookupError):
            total += part(each)
    return total


def _memory(pid: int) -> int:
    return _bytes(_read(pid, "status"), _MEMORY)


def _part_of_memory(pid: int) -> int:
    try:
        return _bytes(_read(pid, "smaps_rollup"), _PART_OF_MEMORY)
    except PermissionError:  # it does not let itself be looked at so closely
        return _memory(pid)


def _bytes(text: str, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in text.splitlines())
    return sum(int(words[1]) for words in lines if words and words[0] in names) << 10


def _ticks(pid: int) -> int:
    """Return what a process has taken of processors, and those of its children that it has waited for."""
    return sum(map(int, _read(pid, "stat").rpartition(")")[2].split()[11:15]))


def _others(pid: int) -> list[int]:
    """Return what a process has started, itself or by others."""
    lineage = lineage_of(pid)
    return [] if lineage is None else [each for each in members(lineage) if each != pid]


def _send(processes: list[int], number: signal.Signals) -> None:
    for each in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)


def _read(pid: int, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        raise ProcessLookupError(pid) from None


@contextlib.contextmanager
def _descriptor(pid: int) -> Iterator[int]:
    descriptor = os.pidfd_open(pid)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
