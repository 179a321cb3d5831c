"""Retrying one record: Kafka Connect's RetryWithToleranceOperator without the tolerating."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from hearth_execution.failure import is_retriable

FIRST_DELAY_MS = 300

T = TypeVar("T")


@dataclass(frozen=True)
class Retry:
    """How often a retriable failure of one operation is tried again.

    The waits are Kafka Connect's: 300 ms, doubled each time; past ``delay_max_ms`` a random part of it; never past
    the deadline of ``timeout_ms`` after the first attempt (0 = no retry, -1 = for ever). Setting ``stopping`` ends a
    wait, and the operation counts as failed. Where it ``is_strict`` nothing is tolerated, and nobody needs to know
    what becomes of records behind the first that failed.
    """

    timeout_ms: int
    delay_max_ms: int
    stopping: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    is_strict: bool = False

    def run(self, operation: Callable[[], T]) -> T:
        """Call ``operation`` until it returns, raises for good, or the time is over."""
        started = self.clock()
        attempt = 0
        while True:
            try:
                return operation()
            except Exception as error:
                if not self.is_worth_another(error, attempt, started):
                    raise
                attempt += 1

    def is_worth_another(self, error: Exception, attempt: int, started: float) -> bool:
        """Wait before the attempt after this one (from 0), and return whether there is to be one."""
        deadline = started + self.timeout_ms / 1000
        wait = self._wait_ms(attempt, deadline) if is_retriable(error) else None
        return wait is not None and not self.stopping.wait(wait / 1000)

    def _wait_ms(self, attempt: int, deadline: float) -> float | None:
        delay: float = FIRST_DELAY_MS * 2 ** min(attempt, 60)
        if delay > self.delay_max_ms:
            delay = random.uniform(0, self.delay_max_ms)
        if self.timeout_ms < 0:
            return delay
        left = (deadline - self.clock()) * 1000
        return min(delay, left) if left > 0 else None


NO_RETRY = Retry(timeout_ms=0, delay_max_ms=0)
"""The first failure counts: what holds where no connector says otherwise, because there is none."""
