"""Queues: order within, none between."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import CancelledError

import pytest

from hearth.herder.queue import Interrupted, Queues, interruptible, then
from hearth_api import PluginError
from tests.timeouts import TIMEOUT


def test_jobs_of_one_queue_happen_in_order() -> None:
    """Whatever thread does them."""
    queues, done = Queues(), []
    futures = [queues.submit("a", lambda number=number: done.append(number)) for number in range(200)]  # type: ignore[misc]
    for future in futures:
        future.result(TIMEOUT)
    assert done == list(range(200))


def test_a_queue_that_is_held_up_holds_up_no_other() -> None:
    """A plugin may hang."""
    queues, gate = Queues(), threading.Event()
    held = queues.submit("a", lambda: gate.wait(TIMEOUT))
    assert queues.submit("b", lambda: 1).result(TIMEOUT) == 1
    gate.set()
    assert held.result(TIMEOUT)


def test_an_error_reaches_who_waits_and_the_queue_goes_on() -> None:
    """One failed change is not the end of a connector."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        queues.submit("a", fail).result(TIMEOUT)
    assert queues.submit("a", lambda: 2).result(TIMEOUT) == 2


def test_an_error_nobody_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It would be lost otherwise."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("unheard")

    with caplog.at_level(logging.ERROR):
        queues.post("a", fail)
        queues.submit("a", lambda: None).result(TIMEOUT)
    assert "unheard" in caplog.text


def test_what_waits_when_queues_close_is_cancelled() -> None:
    """What has begun may finish."""
    queues, gate, begun = Queues(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        gate.wait(TIMEOUT)
        return "done"

    running, waiting = queues.submit("a", work), queues.submit("a", lambda: "never")
    begun.wait(TIMEOUT)
    queues.close()
    gate.set()
    assert running.result(TIMEOUT) == "done"
    with pytest.raises(CancelledError):
        waiting.result(TIMEOUT)
    assert queues.submit("a", lambda: None).cancelled()


def test_any_number_of_queues_that_are_held_up_hold_up_no_other() -> None:
    """Twelve plugins that hang once held eight threads, and with them every connector there was."""
    queues, gate = Queues(), threading.Event()
    held = [queues.submit(f"hanging {number}", lambda: gate.wait(60)) for number in range(100)]
    assert queues.submit("thirteenth", lambda: "done").result(TIMEOUT) == "done"
    gate.set()
    assert all(each.result(TIMEOUT) for each in held)


def test_a_queue_that_is_idle_has_no_thread() -> None:
    """A thousand connectors that run cost nothing here."""
    queues = Queues()
    for number in range(20):
        queues.submit(f"idle {number}", lambda: None).result(TIMEOUT)
    for thread in threading.enumerate():
        if thread.name.startswith("herder idle"):
            thread.join(TIMEOUT)
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
        refused.result(TIMEOUT)
    assert queues.submit("a", lambda: 2).result(TIMEOUT) == 2
    queues.post_once("a", "again", done.set)
    assert done.wait(TIMEOUT)


def test_what_is_asked_again_before_it_is_done_is_done_once() -> None:
    """A plugin that asks without end takes no memory, and what it asks while it is being served is not forgotten."""
    queues, gate, done = Queues(), threading.Event(), list[str]()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait(TIMEOUT)
        done.append("again")

    queues.post_once("a", "again", work)
    assert begun.wait(TIMEOUT)
    for _ in range(1000):
        queues.post_once("a", "again", lambda: done.append("again"))
        queues.post_once("a", "else", lambda: done.append("else"))
    gate.set()
    queues.submit("a", lambda: None).result(TIMEOUT)
    assert done == ["again", "again", "else"]


class Hanging:
    """A job that waits until somebody ends what it waits for."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._ended = threading.Event()

    def __call__(self) -> None:
        """Wait; whoever ends it is the reason why it fails."""
        with interruptible(self._ended.set):
            self.begun.set()
            assert self._ended.wait(30), "nobody ended it"
            raise PluginError("ended")


def test_who_is_impatient_ends_what_is_done_before_it() -> None:
    """It comes to its turn although those before it would take for ever, each of them."""
    queues = Queues(interrupt_after=0.05)
    hanging = [queues.submit("a", Hanging()) for _ in range(3)]
    assert queues.submit("a", lambda: "done", is_impatient=True).result(TIMEOUT) == "done"
    for each in hanging:
        with pytest.raises(PluginError, match="ended"):
            each.result(TIMEOUT)


def test_who_is_patient_ends_nothing() -> None:
    """A queue is held up by its own plugin, until somebody comes who is to end that."""
    queues, hanging = Queues(interrupt_after=0.0), Hanging()
    held, patient = queues.submit("a", hanging), queues.submit("a", lambda: "patient")
    assert hanging.begun.wait(TIMEOUT)
    assert queues.submit("b", lambda: "other").result(TIMEOUT) == "other"
    assert not held.done()
    assert not patient.done()
    queues.submit("a", lambda: None, is_impatient=True).result(TIMEOUT)
    assert patient.result(TIMEOUT) == "patient"


def test_what_was_interrupted_does_not_begin_to_wait_again() -> None:
    """Between two calls of a plugin there is nothing to end, so the second does not take place."""
    queues, gate = Queues(interrupt_after=0.0), threading.Event()
    waits = [Hanging(), Hanging()]

    def work() -> None:
        with contextlib.suppress(PluginError):
            waits[0]()
        assert gate.wait(TIMEOUT)
        waits[1]()

    working = queues.submit("a", work)
    assert waits[0].begun.wait(TIMEOUT)
    last = queues.submit("a", lambda: "done", is_impatient=True)
    gate.set()
    with pytest.raises(Interrupted):
        working.result(TIMEOUT)
    assert last.result(TIMEOUT) == "done"
    assert not waits[1].begun.is_set()


def test_an_end_that_comes_with_the_answer_counts() -> None:
    """Who was ended is not taken for one that goes on, although its last call went well."""
    queues, begun, ended = Queues(interrupt_after=0.0), threading.Event(), threading.Event()

    def work() -> None:
        with interruptible(ended.set):
            begun.set()
            assert ended.wait(TIMEOUT)

    working = queues.submit("a", work)
    assert begun.wait(TIMEOUT)
    queues.submit("a", lambda: None, is_impatient=True).result(TIMEOUT)
    with pytest.raises(Interrupted):
        working.result(TIMEOUT)


def test_outside_of_a_queue_nobody_is_impatient() -> None:
    """Who ends everything calls plugins, too."""
    with interruptible(lambda: pytest.fail("was ended")):
        pass


def test_what_follows_a_future_is_its_outcome() -> None:
    """Or what kept it from following."""
    queues = Queues()
    one = queues.submit("a", lambda: 1)
    assert then(one, lambda found: queues.submit("b", lambda: found + 1)).result(TIMEOUT) == 2
    for failing in (
        then(queues.submit("a", lambda: 1 // 0), lambda found: one),
        then(one, lambda found: queues.submit("b", lambda: 1 // 0)),
    ):
        with pytest.raises(ZeroDivisionError):
            failing.result(TIMEOUT)
    queues.close()
    assert then(one, lambda found: queues.submit("b", lambda: found)).cancelled()
    assert then(queues.submit("a", lambda: 1), lambda found: one).cancelled()
