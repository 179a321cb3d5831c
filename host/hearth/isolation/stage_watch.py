"""Watches the memory and processor time of a stage process and enforces its limits.

Linux cannot limit these for a single process: ``RLIMIT_AS`` and ``RLIMIT_DATA`` limit address space, of which Arrow
and threads reserve far more than they use. So the owner of a stage polls: more often the nearer it is to a limit, and
once a second when it is idle.
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
"""How fast a process can allocate memory; what it allocates between two looks is not stopped."""
LONGEST_SECONDS, SHORTEST_SECONDS = 1.0, 0.02
BUSY_SECONDS = 0.1
"""Interval between two looks at a busy process with limited processor time."""
BURST_SECONDS = 0.25
"""For how long a process may save processor time that it did not use."""
_TICKS = os.sysconf("SC_CLK_TCK")
_MEMORY = ("RssAnon:", "RssShmem:", "VmSwap:")
_PART_OF_MEMORY = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
"""Proportional shares: forked processes share most of their memory."""


@dataclass(frozen=True)
class Usage:
    """Memory and processor time of a process and its descendants, in total."""

    memory_bytes: int
    cpu_seconds: float


@dataclass(frozen=True)
class LimitDecision:
    """What to do: kill the process for an ``excess``, suspend it for ``pause`` seconds, and when to look again."""

    next_look: float
    pause: float = 0.0
    excess: str = ""


class UsageBudget:
    """What a process may still use; compares samples of a monotonic clock and of its usage."""

    def __init__(self, limits: Limits, now: float, usage: Usage) -> None:
        self._limits = limits
        self._time, self._taken = now, usage.cpu_seconds
        self._saved = 0.0
        self._next_look = SHORTEST_SECONDS

    def judge(self, now: float, usage: Usage) -> LimitDecision:
        """Decide on the usage since the last call."""
        most, cpus = self._limits.memory_bytes, self._limits.cpus
        if most is not None and usage.memory_bytes > most:
            taken = f"{usage.memory_bytes} bytes of memory"
            return LimitDecision(0.0, excess=f"it used {taken}, more than {MEMORY}={most}")
        took = max(0.0, usage.cpu_seconds - self._taken)  # negative if a counted process has ended
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
        """Return how long to suspend a process that used ``took`` processor seconds in ``seconds``."""
        self._saved = min(self._saved + cpus * seconds - took, cpus * BURST_SECONDS)
        return max(0.0, -self._saved / cpus)


class Watch:
    """A thread that watches one process until it ends or ``end`` is called.

    It calls ``on_excess`` with the exceeded limit; the callback has to end the process.
    """

    def __init__(self, pid: int, limits: Limits, on_excess: Callable[[str], None]) -> None:
        self._pid = pid
        self._limits = limits
        self._on_excess = on_excess
        self._is_over = threading.Event()
        threading.Thread(target=self._execute, name=f"watch-{pid}", daemon=True).start()

    def end(self) -> None:
        """Stop watching; a suspended process continues."""
        self._is_over.set()

    def _execute(self) -> None:
        with contextlib.suppress(ProcessLookupError), _descriptor(self._pid) as process:
            most = self._limits.memory_bytes
            budget = UsageBudget(self._limits, time.monotonic(), usage_of(self._pid, most))
            decision = LimitDecision(SHORTEST_SECONDS)
            while not self._is_over.wait(decision.next_look):
                decision = budget.judge(time.monotonic(), usage_of(self._pid, most))
                if decision.excess:
                    self._on_excess(decision.excess)
                    return
                if decision.pause:
                    self._suspend(process, decision.pause)

    def _suspend(self, process: int, seconds: float) -> None:
        """Suspend the process and its descendants for a while."""
        signal.pidfd_send_signal(process, signal.SIGSTOP)  # raises if it has ended and its number may be another's
        others = _others(self._pid)
        try:
            _send(others, signal.SIGSTOP)
            self._is_over.wait(seconds)
        finally:
            signal.pidfd_send_signal(process, signal.SIGCONT)
            _send(others, signal.SIGCONT)


def usage_of(pid: int, most: int | None = None) -> Usage:
    """Return the usage of a stage process and its descendants, daemons included.

    Memory is what they allocated, without mapped files. Memory shared with each other or with the parent of a fork is
    split only if the total would exceed ``most``, because that is slow. Raises ProcessLookupError if the process has
    ended.
    """
    everyone = [pid, *_others(pid)]
    memory = _sum(_memory, everyone)
    if most is not None and memory > most:
        memory = _sum(_part_of_memory, everyone)
    return Usage(memory, _sum(_ticks, everyone) / _TICKS)


def own_usage(pid: int) -> Usage:
    """Return the usage of a stage process alone, which two small reads tell.

    Raises ProcessLookupError if it has ended.
    """
    return Usage(_memory(pid), _ticks(pid) / _TICKS)


def _sum(part: Callable[[int], int], everyone: list[int]) -> int:
    """Return the total of all processes; only the first has to exist."""
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
    except PermissionError:  # it does not permit this look
        return _memory(pid)


def _bytes(text: str, names: tuple[str, ...]) -> int:
    lines = (line.split() for line in text.splitlines())
    return sum(int(words[1]) for words in lines if words and words[0] in names) << 10


def _ticks(pid: int) -> int:
    """Return the processor time of a process and of the children it has waited for."""
    return sum(map(int, _read(pid, "stat").rpartition(")")[2].split()[11:15]))


def _others(pid: int) -> list[int]:
    """Return the descendants of a process."""
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
