"""Queues: order within, none between."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import CancelledError

import pytest

from hearth.herder.queue import Queues


def test_jobs_of_one_queue_happen_in_order() -> None:
    """Whatever thread does them."""
    queues, done = Queues(), []
    futures = [queues.submit("a", lambda number=number: done.append(number)) for number in range(200)]  # type: ignore[misc]
    for future in futures:
        future.result(10)
    assert done == list(range(200))


def test_a_queue_that_is_held_up_holds_up_no_other() -> None:
    """A plugin may hang."""
    queues, gate = Queues(), threading.Event()
    held = queues.submit("a", lambda: gate.wait(10))
    assert queues.submit("b", lambda: 1).result(10) == 1
    gate.set()
    assert held.result(10)


def test_an_error_reaches_who_waits_and_the_queue_goes_on() -> None:
    """One failed change is not the end of a connector."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        queues.submit("a", fail).result(10)
    assert queues.submit("a", lambda: 2).result(10) == 2


def test_an_error_nobody_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It would be lost otherwise."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("unheard")

    with caplog.at_level(logging.ERROR):
        queues.post("a", fail)
        queues.submit("a", lambda: None).result(10)
    assert "unheard" in caplog.text


def test_what_waits_when_queues_close_is_cancelled() -> None:
    """What has begun may finish."""
    queues, gate, begun = Queues(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        gate.wait(10)
        return "done"

    running, waiting = queues.submit("a", work), queues.submit("a", lambda: "never")
    begun.wait(10)
    queues.close()
    gate.set()
    assert running.result(10) == "done"
    with pytest.raises(CancelledError):
        waiting.result(10)
    assert queues.submit("a", lambda: None).cancelled()


def test_any_number_of_queues_that_are_held_up_hold_up_no_other() -> None:
    """Twelve plugins that hang once held eight threads, and with them every connector there was."""
    queues, gate = Queues(), threading.Event()
    held = [queues.submit(f"hanging {number}", lambda: gate.wait(60)) for number in range(100)]
    assert queues.submit("thirteenth", lambda: "done").result(10) == "done"
    gate.set()
    assert all(each.result(10) for each in held)


def test_a_queue_that_is_idle_has_no_thread() -> None:
    """A thousand connectors that run cost nothing here."""
    queues = Queues()
    for number in range(20):
        queues.submit(f"idle {number}", lambda: None).result(10)
    for thread in threading.enumerate():
        if thread.name.startswith("herder idle"):
            thread.join(10)
    assert not [each for each in threading.enumerate() if each.name.startswith("herder idle")]


def test_a_job_for_which_there_is_no_thread_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for it hears of it, and the queue works again when there is one."""
    queues, done = Queues(), threading.Event()

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        refused = queues.submit("a", lambda: 1)
        queues.post_once("a", "again", done.set)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        refused.result(10)
    assert queues.submit("a", lambda: 2).result(10) == 2
    queues.post_once("a", "again", done.set)
    assert done.wait(10)


def test_what_is_asked_again_before_it_is_done_is_done_once() -> None:
    """A plugin that asks without end takes no memory, and what it asks while it is being served is not forgotten."""
    queues, gate, done = Queues(), threading.Event(), list[str]()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait(10)
        done.append("again")

    queues.post_once("a", "again", work)
    assert begun.wait(10)
    for _ in range(1000):
        queues.post_once("a", "again", lambda: done.append("again"))
        queues.post_once("a", "else", lambda: done.append("else"))
    gate.set()
    queues.submit("a", lambda: None).result(10)
    assert done == ["again", "again", "else"]
