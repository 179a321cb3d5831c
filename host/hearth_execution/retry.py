"""Retries of one record: Kafka Connect's RetryWithToleranceOperator without the tolerance."""

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
    """How long a retriable failure of one operation is retried.

    The delays are Kafka Connect's: 300 ms, doubled each time; a random part of ``delay_max_ms`` once they exceed it;
    never past ``timeout_ms`` after the first attempt (0 = no retry, -1 = forever). Setting ``stopping`` ends a wait
    and fails the operation. With ``is_strict`` nothing is tolerated, and records after the first failure do not
    matter. ``on_retry`` is called before each further attempt, on the thread of the operation.
    """

    timeout_ms: int
    delay_max_ms: int
    stopping: threading.Event = field(default_factory=threading.Event)
    clock: Callable[[], float] = time.monotonic
    is_strict: bool = False
    on_retry: Callable[[], None] = lambda: None

    def run(self, operation: Callable[[], T]) -> T:
        """Call ``operation`` until it returns, raises an error that is not retriable, or times out."""
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
        """Wait before the next attempt, and return whether to make it; ``attempt`` counts from 0."""
        deadline = started + self.timeout_ms / 1000
        wait = self._wait_ms(attempt, deadline) if is_retriable(error) else None
        if wait is None or self.stopping.wait(wait / 1000):
            return False
        self.on_retry()
        return True

    def _wait_ms(self, attempt: int, deadline: float) -> float | None:
        delay: float = FIRST_DELAY_MS * 2 ** min(attempt, 60)
        if delay > self.delay_max_ms:
            delay = random.uniform(0, self.delay_max_ms)
        if self.timeout_ms < 0:
            return delay
        left = (deadline - self.clock()) * 1000
        return min(delay, left) if left > 0 else None


NO_RETRY = Retry(timeout_ms=0, delay_max_ms=0)
"""No retries, for operations without a connector's settings."""
