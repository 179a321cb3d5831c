"""How much of what somebody says goes to the log: a plugin that talks too much is cut short, not held up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from hearth_stage.log_call import LogLine

BURST_BYTES = 1 << 20
BYTES_A_SECOND = 64 << 10
"""How much may go to the log at once, and how much in the long run: a plugin may write without end."""


class LogBudget:
    """What one process, or one of several that share one, may still say; who has said too much waits for a while.

    `sharers` is of how many it is the budget. Used by one thread at a time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.sharers = 1
        self.left_out = 0
        """How many lines were left out since one was let through."""
        self._clock = clock
        self._bytes = float(BURST_BYTES)
        self._counted_at = clock()

    @property
    def is_open(self) -> bool:
        """Return whether something may be said again by who has said too much: a quarter of a burst is."""
        return self._has(0)

    def admit(self, line: LogLine) -> Iterator[LogLine]:
        """Yield a line if it may be said, and before it how many were left out."""
        size = len(line.text)
        if not self._has(size):
            self.left_out += 1
            return
        yield from self.close(line.tenant)
        self._bytes -= size
        yield line

    def close(self, tenant: int = 0) -> Iterator[LogLine]:
        """Yield how many lines were left out, where there were any."""
        if self.left_out:
            text = f"... {self.left_out} lines left out, the log takes no more of a process ..."
            self.left_out = 0
            yield LogLine("WARN", "stderr", text, time.time(), tenant)

    def _has(self, size: int) -> bool:
        now, burst = self._clock(), BURST_BYTES * self.sharers
        self._bytes = min(burst, self._bytes + (now - self._counted_at) * BYTES_A_SECOND * self.sharers)
        self._counted_at = now
        return self._bytes >= (max(size, burst // 4) if self.left_out else size)
