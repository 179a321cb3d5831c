"""Health checks of the herder."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from hearth.herder.health_check import HealthCheck
from hearth.herder.queue import Queues
from tests.timeouts import TIMEOUT


def test_concurrent_checks_share_one_thread() -> None:
    """However many wait while it is stuck; a later call gets another check."""
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


def test_a_failed_step_is_reported_once() -> None:
    """The next check starts fresh."""
    steps: list[Callable[[], object]] = [dict[str, int]().popitem, list]
    check = HealthCheck(Queues(), {"trying": lambda: steps.pop(0)()})
    with pytest.raises(KeyError):
        check.take().result(TIMEOUT)
    check.take().result(TIMEOUT)


def test_a_later_step_may_come_first() -> None:
    """As membership in the cluster does, which exists after the herder."""
    taken: list[str] = []
    check = HealthCheck(Queues(), {"reading": lambda: taken.append("reading")})
    check.begin_with("joining", lambda: taken.append("joining"))
    check.take().result(TIMEOUT)
    assert taken == ["joining", "reading"]
