"""Retries: Kafka Connect's delays, on a clock that only waits advance."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import DataError, RetriableError
from hearth_execution.failure import ErrorInfo
from hearth_execution.retry import Retry


class Clock(threading.Event):
    """A clock that waits advance; the task is stopped after ``stop_after`` waits."""

    def __init__(self, stop_after: int | None = None) -> None:
        super().__init__()
        self.now = 0.0
        self.waits: list[int] = []
        self._stop_after = stop_after

    def wait(self, timeout: float | None = None) -> bool:
        """Record a wait and advance the clock."""
        assert timeout is not None
        self.now += timeout
        self.waits.append(round(timeout * 1000))
        return len(self.waits) == self._stop_after

    def time(self) -> float:
        """Return the seconds that passed."""
        return self.now


def retry(clock: Clock, timeout_ms: int, delay_max_ms: int = 60_000) -> Retry:
    """Return a retry on this clock."""
    return Retry(timeout_ms, delay_max_ms, clock, clock.time)


def failing(times: int, error: Exception | None = None) -> Callable[[], str]:
    """Return an operation that succeeds after some failures."""
    left = [times]

    def operation() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise error or RetriableError("later")
        return "done"

    return operation


def test_successful_operation_is_called_once() -> None:
    """There is no wait without a failure."""
    clock = Clock()
    assert retry(clock, 6000).run(failing(0)) == "done"
    assert clock.waits == []


def test_waits_are_those_of_kafka_connect() -> None:
    """Kafka's own example: 6 s allow 300, 600, 1200 and 2400 ms, then the rest, then none."""
    clock = Clock()
    with pytest.raises(RetriableError):
        retry(clock, 6000).run(failing(100))
    assert clock.waits == [300, 600, 1200, 2400, 1500]


def test_endless_retry_doubles_up_to_the_longest_delay() -> None:
    """With timeout -1 the delays double up to the maximum."""
    clock = Clock()
    assert retry(clock, -1, 60_000).run(failing(8)) == "done"
    assert clock.waits == [300, 600, 1200, 2400, 4800, 9600, 19200, 38400]


def test_delay_beyond_the_longest_is_a_random_part_of_it() -> None:
    """Past ``errors.retry.delay.max.ms`` tasks must not retry all at once."""
    clock = Clock()
    assert retry(clock, -1, 1000).run(failing(200)) == "done"
    assert clock.waits[:2] == [300, 600]
    assert all(0 <= wait <= 1000 for wait in clock.waits)
    assert len(set(clock.waits[2:])) > 50


@pytest.mark.parametrize("error", [DataError("x"), ValueError("x"), ErrorInfo("data", "c", "m", "t").to_error()])
def test_only_retriable_failures_are_tried_again(error: Exception) -> None:
    """Other errors are raised at once."""
    clock = Clock()
    with pytest.raises(type(error)):
        retry(clock, -1).run(failing(1, error))
    assert clock.waits == []


def test_retriable_failure_of_another_process_is_tried_again() -> None:
    """It does not matter which process raised the error."""
    clock = Clock()
    error = ErrorInfo("retriable", "c", "m", "t").to_error()
    assert retry(clock, -1).run(failing(2, error)) == "done"


def test_no_timeout_means_no_retry() -> None:
    """With Kafka's default, 0, the first failure is raised."""
    clock = Clock()
    with pytest.raises(RetriableError):
        retry(clock, 0).run(failing(1))
    assert clock.waits == []


def test_stop_ends_a_wait_and_the_operation_has_failed() -> None:
    """A stopping task does not wait for its retries."""
    clock = Clock(stop_after=2)
    with pytest.raises(RetriableError):
        retry(clock, -1).run(failing(100))
    assert clock.waits == [300, 600]


@settings(deadline=None)
@given(st.integers(0, 100_000), st.integers(0, 100_000))
def test_waits_never_pass_the_deadline(timeout_ms: int, delay_max_ms: int) -> None:
    """Whatever the limits, all waits together never exceed the timeout."""
    clock: Any = Clock(stop_after=1000)
    with pytest.raises(RetriableError):
        retry(clock, timeout_ms, delay_max_ms).run(failing(10_000))
    assert clock.now * 1000 <= timeout_ms + 0.001
