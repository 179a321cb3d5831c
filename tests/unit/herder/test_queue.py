"""Queues: order within one, none between several."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import CancelledError

import pytest

from hearth.herder.queue import Interrupted, Queues, interruptible, then
from hearth_api import PluginError
from tests.timeouts import TIMEOUT


def test_jobs_of_one_queue_run_in_order() -> None:
    """On any thread."""
    queues, done = Queues(), []
    futures = [queues.submit("a", lambda number=number: done.append(number)) for number in range(200)]  # type: ignore[misc]
    for future in futures:
        future.result(TIMEOUT)
    assert done == list(range(200))


def test_a_blocked_queue_blocks_no_other() -> None:
    """A plugin may hang."""
    queues, gate = Queues(), threading.Event()
    held = queues.submit("a", lambda: gate.wait(TIMEOUT))
    assert queues.submit("b", lambda: 1).result(TIMEOUT) == 1
    gate.set()
    assert held.result(TIMEOUT)


def test_an_error_is_raised_to_the_caller_and_the_queue_continues() -> None:
    """A failed change does not end a connector."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        queues.submit("a", fail).result(TIMEOUT)
    assert queues.submit("a", lambda: 2).result(TIMEOUT) == 2


def test_an_error_without_a_caller_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """It would be lost otherwise."""
    queues = Queues()

    def fail() -> None:
        raise ValueError("unheard")

    with caplog.at_level(logging.ERROR):
        queues.post("a", fail)
        queues.submit("a", lambda: None).result(TIMEOUT)
    assert "unheard" in caplog.text


def test_waiting_jobs_are_cancelled_on_close() -> None:
    """Running ones may finish."""
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


def test_any_number_of_blocked_queues_block_no_other() -> None:
    """Twelve hanging plugins once blocked eight threads, and with them every connector."""
    queues, gate = Queues(), threading.Event()
    held = [queues.submit(f"hanging {number}", lambda: gate.wait(60)) for number in range(100)]
    assert queues.submit("thirteenth", lambda: "done").result(TIMEOUT) == "done"
    gate.set()
    assert all(each.result(TIMEOUT) for each in held)


def test_an_idle_queue_has_no_thread() -> None:
    """A thousand running connectors cost nothing here."""
    queues = Queues()
    for number in range(20):
        queues.submit(f"idle {number}", lambda: None).result(TIMEOUT)
    for thread in threading.enumerate():
        if thread.name.startswith("herder idle"):
            thread.join(TIMEOUT)
    assert not [each for each in threading.enumerate() if each.name.startswith("herder idle")]


def test_a_job_fails_if_no_thread_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller gets the error, and the queue works again once a thread is available."""
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


def test_a_repeated_request_runs_once() -> None:
    """A plugin that requests without end uses no memory, and a request made while one is being served is not lost."""
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
    """A job that waits until it is interrupted."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self._ended = threading.Event()

    def __call__(self) -> None:
        """Wait; fail with the reason of the interruption."""
        with interruptible(self._ended.set):
            self.begun.set()
            assert self._ended.wait(30), "nobody ended it"
            raise PluginError("ended")


def test_an_impatient_job_interrupts_those_before_it() -> None:
    """It gets its turn although each of them would block forever."""
    queues = Queues(interrupt_after=0.05)
    hanging = [queues.submit("a", Hanging()) for _ in range(3)]
    assert queues.submit("a", lambda: "done", is_impatient=True).result(TIMEOUT) == "done"
    for each in hanging:
        with pytest.raises(PluginError, match="ended"):
            each.result(TIMEOUT)


def test_a_patient_job_interrupts_nothing() -> None:
    """A plugin blocks its own queue until a request to stop it arrives."""
    queues, hanging = Queues(interrupt_after=0.0), Hanging()
    held, patient = queues.submit("a", hanging), queues.submit("a", lambda: "patient")
    assert hanging.begun.wait(TIMEOUT)
    assert queues.submit("b", lambda: "other").result(TIMEOUT) == "other"
    assert not held.done()
    assert not patient.done()
    queues.submit("a", lambda: None, is_impatient=True).result(TIMEOUT)
    assert patient.result(TIMEOUT) == "patient"


def test_an_interrupted_job_does_not_wait_again() -> None:
    """An interruption between two calls of a plugin prevents the second."""
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


def test_an_interruption_together_with_the_result_takes_effect() -> None:
    """An interrupted job does not continue, even though its last call succeeded."""
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


def test_calls_outside_a_queue_are_not_interrupted() -> None:
    """Shutdown calls plugins, too."""
    with interruptible(lambda: pytest.fail("was ended")):
        pass


def test_then_returns_the_outcome_of_the_following_future() -> None:
    """Or the error that prevented it."""
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
