"""Lanes: order within, none between."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import CancelledError

import pytest

from hearth.herder.lane import Lanes


def test_jobs_of_one_lane_happen_in_order() -> None:
    """Whatever thread does them."""
    lanes, done = Lanes(), []
    futures = [lanes.submit("a", lambda number=number: done.append(number)) for number in range(200)]  # type: ignore[misc]
    for future in futures:
        future.result(10)
    assert done == list(range(200))


def test_a_lane_that_is_held_up_holds_up_no_other() -> None:
    """A plugin may hang."""
    lanes, gate = Lanes(), threading.Event()
    held = lanes.submit("a", lambda: gate.wait(10))
    assert lanes.submit("b", lambda: 1).result(10) == 1
    gate.set()
    assert held.result(10)


def test_an_error_reaches_who_waits_and_the_lane_goes_on() -> None:
    """One failed wish is not the end of a connector."""
    lanes = Lanes()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        lanes.submit("a", fail).result(10)
    assert lanes.submit("a", lambda: 2).result(10) == 2


def test_an_error_nobody_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It would be lost otherwise."""
    lanes = Lanes()

    def fail() -> None:
        raise ValueError("unheard")

    with caplog.at_level(logging.ERROR):
        lanes.post("a", fail)
        lanes.submit("a", lambda: None).result(10)
    assert "unheard" in caplog.text


def test_what_waits_when_lanes_close_is_cancelled() -> None:
    """What has begun may finish."""
    lanes, gate, begun = Lanes(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        gate.wait(10)
        return "done"

    running, waiting = lanes.submit("a", work), lanes.submit("a", lambda: "never")
    begun.wait(10)
    lanes.close()
    gate.set()
    assert running.result(10) == "done"
    with pytest.raises(CancelledError):
        waiting.result(10)
    assert lanes.submit("a", lambda: None).cancelled()


def test_any_number_of_lanes_that_are_held_up_hold_up_no_other() -> None:
    """Twelve plugins that hang once held eight threads, and with them every connector there was."""
    lanes, gate = Lanes(), threading.Event()
    held = [lanes.submit(f"hanging {number}", lambda: gate.wait(60)) for number in range(100)]
    assert lanes.submit("thirteenth", lambda: "done").result(10) == "done"
    gate.set()
    assert all(each.result(10) for each in held)


def test_a_lane_that_is_idle_has_no_thread() -> None:
    """A thousand connectors that run cost nothing here."""
    lanes = Lanes()
    for number in range(20):
        lanes.submit(f"idle {number}", lambda: None).result(10)
    for thread in threading.enumerate():
        if thread.name.startswith("herder idle"):
            thread.join(10)
    assert not [each for each in threading.enumerate() if each.name.startswith("herder idle")]


def test_a_job_for_which_there_is_no_thread_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for it hears of it, and the lane works again when there is one."""
    lanes = Lanes()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        refused = lanes.submit("a", lambda: 1)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        refused.result(10)
    assert lanes.submit("a", lambda: 2).result(10) == 2


def test_what_is_asked_again_before_it_is_done_is_done_once() -> None:
    """A plugin that asks without end takes no memory, and what it asks while it is being served is not forgotten."""
    lanes, gate, done = Lanes(), threading.Event(), list[str]()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait(10)
        done.append("again")

    lanes.post_once("a", "again", work)
    assert begun.wait(10)
    for _ in range(1000):
        lanes.post_once("a", "again", lambda: done.append("again"))
        lanes.post_once("a", "else", lambda: done.append("else"))
    gate.set()
    lanes.submit("a", lambda: None).result(10)
    assert done == ["again", "again", "else"]
