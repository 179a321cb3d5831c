"""Turns that a herder takes for those who ask whether it is healthy."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from hearth.herder.health_check import HealthCheck
from hearth.herder.queue import Queues
from tests.timeouts import TIMEOUT


def test_all_who_ask_meanwhile_wait_for_one_turn() -> None:
    """However many ask while it is stuck, one thread waits; who asks later is told of another turn."""
    reached, free = threading.Event(), threading.Event()
    check = HealthCheck(Queues(), {"reading": reached.set, "waiting": lambda: free.wait(TIMEOUT)})
    assert check.summarize() is None
    turn = check.take()
    assert reached.wait(TIMEOUT)
    assert check.take() is turn
    free.set()
    turn.result(TIMEOUT)
    assert check.summarize() is None
    assert check.take() is not turn


def test_a_step_that_fails_is_told_and_does_not_stay() -> None:
    """The next turn is a new one."""
    steps: list[Callable[[], object]] = [dict[str, int]().popitem, list]
    check = HealthCheck(Queues(), {"trying": lambda: steps.pop(0)()})
    with pytest.raises(KeyError):
        check.take().result(TIMEOUT)
    check.take().result(TIMEOUT)
