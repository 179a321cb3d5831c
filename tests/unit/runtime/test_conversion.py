"""Conversion of records on other threads: in two steps, in order."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from hearth.foundation.log_context import about, current_label
from hearth.runtime.conversion import QUICK_SECONDS, THREAD_NAME, Conversion
from hearth_api import ConnectError
from tests.timeouts import TIMEOUT


class Pipe:
    """A pipeline whose steps record their thread, wait until released, and fail for given rows."""

    has_stages = False

    def __init__(self, is_apart: bool = False) -> None:
        self.is_apart = is_apart
        self.first_by: list[tuple[int, str | None]] = []
        self.then_by: list[tuple[int, str | None]] = []
        self.may_begin, self.may_end = threading.Event(), threading.Event()
        self.may_begin.set()
        self.may_end.set()
        self.began = threading.Semaphore(0)
        self.error: Exception | None = None

    def first(self, piece: str) -> str:
        """Do the first step."""
        self.began.release()
        assert self.may_begin.wait(TIMEOUT)
        self.first_by.append((threading.get_ident(), current_label()))
        if self.error is not None:
            raise self.error
        return piece

    def then(self, piece: str) -> str:
        """Do the second step."""
        assert self.may_end.wait(TIMEOUT)
        self.then_by.append((threading.get_ident(), current_label()))
        return piece.upper()


@pytest.fixture
def pipe() -> Pipe:
    """Provide a pipeline."""
    return Pipe()


@pytest.fixture
def woken() -> threading.Semaphore:
    """Count how often the loop was woken."""
    return threading.Semaphore(0)


@pytest.fixture
def conversion(pipe: Any, woken: threading.Semaphore) -> Iterator[Conversion[str]]:
    """Provide one for which everything is worth another thread."""
    with closing(Conversion[str](pipe, woken.release, quick=0)) as conversion:
        yield conversion


def begin(conversion: Conversion[str], pipe: Pipe, *pieces: str) -> None:
    """Have pieces converted; of each there are as many records as letters."""
    for piece in pieces:
        conversion.begin(len(piece), partial(pipe.first, piece), pipe.then)


def done(conversion: Conversion[str]) -> list[str]:
    """Return what is converted so far."""
    taken = []
    while conversion.is_next_done:
        taken.append(conversion.take())
    return taken


def others(before: set[threading.Thread]) -> list[threading.Thread]:
    """Return the threads that came to convert."""
    found = (each for each in threading.enumerate() if each.name.startswith(THREAD_NAME))
    return [each for each in found if each not in before]


def test_quick_batches_are_converted_on_the_loop_without_a_thread(pipe: Any, woken: threading.Semaphore) -> None:
    """An idle connector has no such thread, and a single record does not wait for one to wake up."""
    before = set(threading.enumerate())
    with closing(Conversion[str](pipe, woken.release, quick=TIMEOUT)) as conversion:
        for _ in range(2):
            begin(conversion, pipe, "ab")
            assert done(conversion) == ["AB"]
    assert {worker for worker, _ in pipe.first_by} == {threading.get_ident()}
    assert (others(before), woken.acquire(blocking=False), conversion.is_busy) == ([], False, False)


def test_slow_batches_move_to_another_thread(pipe: Any, woken: threading.Semaphore) -> None:
    """The pace of the two batches before decides."""
    with closing(Conversion[str](pipe, woken.release, quick=1e-12)) as conversion:
        for number in range(3):
            assert not conversion.is_busy
            begin(conversion, pipe, "abc")
            assert number == 0 or woken.acquire(timeout=TIMEOUT)
            assert done(conversion) == ["ABC"]
    assert [worker == threading.get_ident() for worker, _ in pipe.first_by] == [True, False, False]


def test_one_slow_batch_does_not_count_as_slow_conversion(pipe: Any, woken: threading.Semaphore) -> None:
    """The first may have imported modules, or the machine may have been busy."""
    now = iter([0.0, 9.0, *[9.0] * 10])
    with closing(Conversion[str](pipe, woken.release, quick=0.01, clock=lambda: next(now))) as conversion:
        for number in range(3):
            begin(conversion, pipe, "abc")
            assert number != 1 or woken.acquire(timeout=TIMEOUT)
            assert done(conversion) == ["ABC"]
    assert [worker == threading.get_ident() for worker, _ in pipe.first_by] == [True, False, True]


@pytest.mark.parametrize("is_apart", [False, True])
def test_quick_rows_follow_the_slower_of_two_batches(is_apart: bool, woken: threading.Semaphore) -> None:
    """Both steps count, and a wait between them does not."""
    pipe: Any = Pipe(is_apart=is_apart)
    steps = iter([0, 1, 5, 6, 10, 11, 20, 22])
    with closing(Conversion[str](pipe, woken.release, quick=0, clock=lambda: next(steps))) as conversion:
        assert conversion.quick_rows == 0
        for seconds in (2, 3):
            begin(conversion, pipe, "a" * 4000)
            assert woken.acquire(timeout=TIMEOUT)
            assert conversion.quick_rows == int(QUICK_SECONDS * 4000 / seconds)


def test_large_batches_are_converted_on_a_thread_that_wakes_the_loop(
    conversion: Conversion[str], pipe: Pipe, woken: threading.Semaphore
) -> None:
    """The thread's log lines have the task's label."""
    with about("c|task-0"):
        begin(conversion, pipe, "abc")
    assert woken.acquire(timeout=TIMEOUT)
    assert done(conversion) == ["ABC"]
    ((worker, label),) = pipe.first_by
    assert (worker != threading.get_ident(), label) == (True, "c|task-0")


def test_small_batches_wait_for_large_ones_before_them(
    conversion: Conversion[str], pipe: Pipe, woken: threading.Semaphore
) -> None:
    """Order holds: nothing is done, and no more accepted, before the earlier batch is converted."""
    pipe.may_begin.clear()
    begin(conversion, pipe, "abc", "d")
    assert pipe.began.acquire(timeout=TIMEOUT)
    assert (done(conversion), conversion.is_full, conversion.is_busy) == ([], True, True)
    pipe.may_begin.set()
    for _ in range(2):
        assert woken.acquire(timeout=TIMEOUT)
    assert (done(conversion), conversion.is_full) == (["ABC", "D"], False)
    assert len(set(pipe.first_by)) == 1


def test_steps_run_in_parallel_where_stages_are_apart(woken: threading.Semaphore) -> None:
    """Each stage gets batches in order, and the threads log with the task's label."""
    pipe: Any = Pipe(is_apart=True)
    pipe.may_end.clear()
    with closing(Conversion[str](pipe, woken.release, quick=0)) as conversion:
        with about("c|task-0"):
            for piece in "ab":
                begin(conversion, pipe, piece)
                assert pipe.began.acquire(timeout=TIMEOUT)
        assert (done(conversion), conversion.is_full, pipe.then_by) == ([], False, [])
        begin(conversion, pipe, "c")
        assert conversion.is_full
        pipe.may_end.set()
        for _ in range(3):
            assert woken.acquire(timeout=TIMEOUT)
        assert done(conversion) == ["A", "B", "C"]
    assert {label for _, label in (*pipe.first_by[:2], *pipe.then_by[:2])} == {"c|task-0"}
    assert {each for each, _ in pipe.first_by}.isdisjoint(each for each, _ in pipe.then_by)


def test_close_waits_for_both_threads_and_drops_the_rest(woken: threading.Semaphore) -> None:
    """Also for a second step whose result is dropped."""
    before = set(threading.enumerate())
    pipe: Any = Pipe(is_apart=True)
    pipe.may_end.clear()
    conversion = Conversion[str](pipe, woken.release, quick=0)
    begin(conversion, pipe, "a", "b", "c")
    assert pipe.began.acquire(timeout=TIMEOUT)
    threading.Timer(0.05, pipe.may_end.set).start()
    conversion.close()
    assert (len(pipe.then_by) <= 1, others(before)) == (True, [])


@pytest.mark.parametrize("quick", [0, TIMEOUT])
def test_a_conversion_error_is_raised_by_take(pipe: Any, woken: threading.Semaphore, quick: float) -> None:
    """A stage that died ends the task, whichever thread waited for it; earlier batches still count."""
    with closing(Conversion[str](pipe, woken.release, quick=quick)) as conversion:
        begin(conversion, pipe, "a")
        assert quick or woken.acquire(timeout=TIMEOUT)
        pipe.error = ConnectError("the stage died")
        begin(conversion, pipe, "b")
        assert woken.acquire(timeout=TIMEOUT)
        assert conversion.take() == "A"
        with pytest.raises(ConnectError, match="the stage died"):
            conversion.take()


def test_without_another_thread_the_loop_converts(
    conversion: Conversion[str], pipe: Pipe, woken: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may have no more threads; once it has, nothing is converted twice."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        begin(conversion, pipe, "abc")
    assert done(conversion) == ["ABC"]
    begin(conversion, pipe, "def")
    assert woken.acquire(timeout=TIMEOUT)
    assert done(conversion) == ["DEF"]
    assert [worker == threading.get_ident() for worker, _ in pipe.first_by] == [True, False]


def test_close_waits_for_running_conversions_and_drops_the_rest(
    pipe: Any, woken: threading.Semaphore, caplog: pytest.LogCaptureFixture
) -> None:
    """Plugins are closed after it, so no call may be in them; an error of a dropped batch is ignored."""
    before = set(threading.enumerate())
    conversion = Conversion[str](pipe, woken.release, quick=0)
    pipe.may_begin.clear()
    pipe.error = ConnectError("late")
    begin(conversion, pipe, "a", "b")
    assert pipe.began.acquire(timeout=TIMEOUT)
    threading.Timer(0.05, pipe.may_begin.set).start()
    with caplog.at_level(logging.DEBUG):
        conversion.close()
    assert (len(pipe.first_by), others(before), caplog.records) == (1, [], [])
