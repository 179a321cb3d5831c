"""Limits the log volume of a plugin: excess lines are dropped instead of blocking it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from hearth_stage.log_call import LogLine

BURST_BYTES = 1 << 20
BYTES_A_SECOND = 64 << 10
"""How much a process may log at once, and per second in the long run."""


class LogBudget:
    """The log budget of one process or tenant; after an excess, nothing is logged for a while.

    `tenants` is the number of tenants that the budget is for. Used by one thread at a time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.tenants = 1
        self.left_out = 0
        """Number of lines dropped since the last logged one."""
        self._clock = clock
        self._bytes = float(BURST_BYTES)
        self._counted_at = clock()

    @property
    def is_open(self) -> bool:
        """Return whether logging resumes after an excess: at a quarter of a burst."""
        return self._has(0)

    def admit(self, line: LogLine) -> Iterator[LogLine]:
        """Yield a line if the budget allows it, after a line with the number of dropped ones."""
        size = len(line.text)
        if not self._has(size):
            self.left_out += 1
            return
        yield from self.close(line.tenant)
        self._bytes -= size
        yield line

    def close(self, tenant: int = 0) -> Iterator[LogLine]:
        """Yield a line with the number of dropped lines, if there are any."""
        if self.left_out:
            text = f"... {self.left_out} lines left out, this process has exceeded its log budget ..."
            self.left_out = 0
            yield LogLine("WARN", "stderr", text, time.time(), tenant)

    def _has(self, size: int) -> bool:
        now, burst = self._clock(), BURST_BYTES * self.tenants
        self._bytes = min(burst, self._bytes + (now - self._counted_at) * BYTES_A_SECOND * self.tenants)
        self._counted_at = now
        return self._bytes >= (max(size, burst // 4) if self.left_out else size)
