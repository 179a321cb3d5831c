"""Queues: order within, none between."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import CancelledError

import pytest

from hearth.herder.queue import Interrupted, Queues, interruptible, then
from hearth_api import PluginError
from tests.patience import PATIENCE


def test_jobs_of_one_queue_happen_in_order() -> None:
    """Whatever thread does them."""
    queues, done = Queues(), []
    futures = [queues.submit("a", lambda number=number: done.append(number)) for number in range(200)]  # type: ignore[misc]
    for future in futures:
        future.result(PATIENCE)
    assert done == list(range(200))


def test_a_queue_that_is_held_up_holds_up_no_other() -> None:
    """A plugin may hang."""
    queues, gate = Queues(), threading.Event()
    held = queues.submit("a", lambda: gate.wait(PATIENCE))
    assert queues.submit("b", lambda: 1).result(PATIENCE) == 1
    gate.set()
    assert held.result(PATIENCE)


def test_an_error_reaches_who_waits_and_the_queue_goes_on() -> None:
    """One failed change is not the end of a connector."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        queues.submit("a", fail).result(PATIENCE)
    assert queues.submit("a", lambda: 2).result(PATIENCE) == 2


def test_an_error_nobody_waits_for_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It would be lost otherwise."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("unheard")

    with caplog.at_level(logging.ERROR):
        queues.post("a", fail)
        queues.submit("a", lambda: None).result(PATIENCE)
    assert "unheard" in caplog.text


def test_what_waits_when_queues_close_is_cancelled() -> None:
    """What has begun may finish."""
    queues, gate, begun = Queues(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        gate.wait(PATIENCE)
        return "done"

    running, waiting = queues.submit("a", work), queues.submit("a", lambda: "never")
    begun.wait(PATIENCE)
    queues.close()
    gate.set()
    assert running.result(PATIENCE) == "done"
    with pytest.raises(CancelledError):
        waiting.result(PATIENCE)
    assert queues.submit("a", lambda: None).cancelled()


def test_any_number_of_queues_that_are_held_up_hold_up_no_other() -> None:
    """Twelve plugins that hang once held eight threads, and with them every connector there was."""
    queues, gate = Queues(), threading.Event()
    held = [queues.submit(f"hanging {number}", lambda: gate.wait(60)) for number in range(100)]
    assert queues.submit("thirteenth", lambda: "done").result(PATIENCE) == "done"
    gate.set()
    assert all(each.result(PATIENCE) for each in held)


def test_a_queue_that_is_idle_has_no_thread() -> None:
    """A thousand connectors that run cost nothing here."""
    queues = Queues()
    for number in range(20):
        queues.submit(f"idle {number}", lambda: None).result(PATIENCE)
    for thread in threading.enumerate():
        if thread.name.startswith("herder idle"):
            thread.join(PATIENCE)
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
        refused.result(PATIENCE)
    assert queues.submit("a", lambda: 2).result(PATIENCE) == 2
    queues.post_once("a", "again", done.set)
    assert done.wait(PATIENCE)


def test_what_is_asked_again_before_it_is_done_is_done_once() -> None:
    """A plugin that asks without end takes no memory, and what it asks while it is being served is not forgotten."""
    queues, gate, done = Queues(), threading.Event(), list[str]()
    begun = threading.Event()

    def work() -> None:
        begun.set()
        gate.wait(PATIENCE)
        done.append("again")

    queues.post_once("a", "again", work)
    assert begun.wait(PATIENCE)
    for _ in range(1000):
        queues.post_once("a", "again", lambda: done.append("again"))
        queues.post_once("a", "else", lambda: done.append("else"))
    gate.set()
    queues.submit("a", lambda: None).result(PATIENCE)
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
    queues = Queues(patience=0.05)
    hanging = [queues.submit("a", Hanging()) for _ in range(3)]
    assert queues.submit("a", lambda: "done", is_impatient=True).result(PATIENCE) == "done"
    for each in hanging:
        with pytest.raises(PluginError, match="ended"):
            each.result(PATIENCE)


def test_who_is_patient_ends_nothing() -> None:
    """A queue is held up by its own plugin, until somebody comes who is to end that."""
    queues, hanging = Queues(patience=0.0), Hanging()
    held, patient = queues.submit("a", hanging), queues.submit("a", lambda: "patient")
    assert hanging.begun.wait(PATIENCE)
    assert queues.submit("b", lambda: "other").result(PATIENCE) == "other"
    assert not held.done()
    assert not patient.done()
    queues.submit("a", lambda: None, is_impatient=True).result(PATIENCE)
    assert patient.result(PATIENCE) == "patient"


def test_what_was_interrupted_does_not_begin_to_wait_again() -> None:
    """Between two calls of a plugin there is nothing to end, so the second does not take place."""
    queues, gate = Queues(patience=0.0), threading.Event()
    waits = [Hanging(), Hanging()]

    def work() -> None:
        with contextlib.suppress(PluginError):
            waits[0]()
        assert gate.wait(PATIENCE)
        waits[1]()

    working = queues.submit("a", work)
    assert waits[0].begun.wait(PATIENCE)
    last = queues.submit("a", lambda: "done", is_impatient=True)
    gate.set()
    with pytest.raises(Interrupted):
        working.result(PATIENCE)
    assert last.result(PATIENCE) == "done"
    assert not waits[1].begun.is_set()


def test_an_end_that_comes_with_the_answer_counts() -> None:
    """Who was ended is not taken for one that goes on, although its last call went well."""
    queues, begun, ended = Queues(patience=0.0), threading.Event(), threading.Event()

    def work() -> None:
        with interruptible(ended.set):
            begun.set()
            assert ended.wait(PATIENCE)

    working = queues.submit("a", work)
    assert begun.wait(PATIENCE)
    queues.submit("a", lambda: None, is_impatient=True).result(PATIENCE)
    with pytest.raises(Interrupted):
        working.result(PATIENCE)


def test_outside_of_a_queue_nobody_is_impatient() -> None:
    """Who ends everything calls plugins, too."""
    with interruptible(lambda: pytest.fail("was ended")):
        pass


def test_what_follows_a_future_is_its_outcome() -> None:
    """Or what kept it from following."""
    queues = Queues()
    one = queues.submit("a", lambda: 1)
    assert then(one, lambda found: queues.submit("b", lambda: found + 1)).result(PATIENCE) == 2
    for failing in (
        then(queues.submit("a", lambda: 1 // 0), lambda found: one),
        then(one, lambda found: queues.submit("b", lambda: 1 // 0)),
    ):
        with pytest.raises(ZeroDivisionError):
            failing.result(PATIENCE)
    queues.close()
    assert then(one, lambda found: queues.submit("b", lambda: found)).cancelled()
    assert then(queues.submit("a", lambda: 1), lambda found: one).cancelled()
