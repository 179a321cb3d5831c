"""Attempts: how plugins are called until each failing record is isolated."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import DataError, PluginError, RetriableError
from hearth_api.batch import LateErrors, PartlyFailed
from hearth_execution.plugins import Attempts, joined
from hearth_execution.retry import Retry

BLANK: list[int] = []


class Instant(threading.Event):
    """Ends every wait at once."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for nothing."""
        return False


class Work:
    """Counts calls on rows, and fails if a bad row is among them."""

    def __init__(self, bad: set[int], error: type[Exception] = ValueError) -> None:
        self.bad, self.error = bad, error
        self.calls: list[tuple[int, int]] = []

    def __call__(self, start: int, size: int) -> list[int]:
        """Return the indices, or fail for all of them."""
        self.calls.append((start, size))
        if self.bad & set(range(start, start + size)):
            raise self.error("bad row")
        return list(range(start, start + size))


def attempts(timeout_ms: int = 0, *, is_strict: bool = False) -> Attempts:
    """Return attempts with a phase and a class name."""
    return Attempts(Retry(timeout_ms, 1000, Instant(), is_strict=is_strict), "TRANSFORMATION", "the.Class")


def test_rows_without_failures_take_one_call() -> None:
    """The common case costs one call for any number of rows."""
    work = Work(set())
    assert attempts().in_halves(range(1000), work, BLANK) == [list(range(1000))]
    assert work.calls == [(0, 1000)]


def test_memory_error_is_raised_and_not_a_failure_of_a_row() -> None:
    """The row would be skipped with tolerance; Java does not tolerate its ``Error`` classes either."""
    trying = attempts()
    with pytest.raises(MemoryError):
        trying.in_halves(range(8), Work({5}, MemoryError), BLANK)
    with pytest.raises(MemoryError):
        trying.one_by_one([0], lambda item: Work({0}, MemoryError)(item, 1), [0], BLANK)
    assert trying.failures == []


def test_one_bad_row_is_found_by_halving() -> None:
    """Few calls find the row; all others are returned in order, with the blank in its place."""
    work, trying = Work({5}), attempts()
    assert trying.in_halves(np.arange(100, 108), work, [-1]) == [[0, 1, 2, 3], [4], [-1], [6, 7]]
    assert work.calls == [(0, 8), (0, 4), (4, 4), (4, 2), (4, 1), (5, 1), (6, 2)]
    (failure,) = trying.failures
    assert (failure.row, failure.phase, failure.class_name) == (105, "TRANSFORMATION", "the.Class")
    assert failure.error.message == "bad row"


def test_single_row_that_fails_is_called_once() -> None:
    """A failed record is not processed twice unless its error is retriable."""
    work = Work({0})
    assert attempts().in_halves([7], work, BLANK) == [[]]
    assert work.calls == [(0, 1)]


def test_only_an_isolated_row_is_retried() -> None:
    """Only the failing record waits, so halving does not delay the others."""
    work = Work({1}, RetriableError)
    attempts(timeout_ms=1).in_halves([0, 1], work, BLANK)
    assert Counter(work.calls)[(0, 2)] == 1
    assert Counter(work.calls)[(0, 1)] == 1
    assert Counter(work.calls)[(1, 1)] > 1


def test_retriable_errors_take_one_call_per_row_and_few_after_recovery() -> None:
    """A retriable error is seldom the fault of a row, and each call may wait long before it fails."""
    work, trying = Work({0, 1, 2}, RetriableError), attempts()
    trying.in_halves(range(16), work, BLANK)
    assert work.calls == [(0, 16), (0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (6, 4), (10, 6)]
    assert [each.row for each in trying.failures] == [0, 1, 2]


@pytest.mark.parametrize("error", [RetriableError, ValueError])
def test_without_tolerance_rows_after_the_first_failure_are_not_tried(error: type[Exception]) -> None:
    """The task fails there, so an outage is waited for once; no later row counts as done."""
    work, trying = Work({2, 3, 4, 5, 6, 7}, error), attempts(is_strict=True)
    results = trying.in_halves(range(8), work, [-1])
    assert [each for part in results for each in part] == [0, 1, -1, -1, -1, -1, -1, -1]
    assert max(start for start, _ in work.calls) == 2
    assert [each.row for each in trying.failures] == [2, 3, 4, 5, 6, 7]
    trying = attempts(is_strict=True)
    asked: list[int] = []

    def run(item: int) -> int:
        asked.append(item)
        if item == 1:
            raise error("bad")
        return item

    assert trying.one_by_one([5, 6, 7, 8], run, range(4), -1) == [0, -1, -1, -1]
    assert (asked, [each.row for each in trying.failures]) == ([0, 1], [6, 7, 8])


def test_failure_without_rows_is_raised() -> None:
    """No record is to blame if a plugin fails without rows."""

    def fail(start: int, size: int) -> list[int]:
        raise ValueError("for no reason")

    with pytest.raises(ValueError, match="for no reason"):
        attempts().in_halves([], fail, BLANK)


@settings(deadline=None)
@given(st.integers(0, 40), st.sets(st.integers(0, 39)), st.sampled_from([ValueError, RetriableError]))
def test_exactly_the_bad_rows_fail(size: int, bad: set[int], error: type[Exception]) -> None:
    """In every case the failures are the bad rows in order and the results are the others in order."""
    trying = attempts()
    results: list[Any] = trying.in_halves(range(size), Work(bad, error), [None])
    flat = [each for part in results for each in part]
    assert flat == [None if row in bad else row for row in range(size)]
    assert [failure.row for failure in trying.failures] == sorted(row for row in bad if row < size)


def test_items_are_done_one_by_one() -> None:
    """A failed item leaves a blank and a failure with its row; the next one is still processed."""
    trying = attempts()
    assert trying.one_by_one([3, 4, 5], int, ["1", "x", "3"], -1) == [1, -1, 3]
    assert [(each.row, each.error.class_name) for each in trying.failures] == [(4, "ValueError")]


def test_item_is_retried_after_a_retriable_failure() -> None:
    """Retries are per item."""
    left = {"a": 2}

    def work(item: str) -> str:
        left[item] = left.get(item, 0) - 1
        if left[item] >= 0:
            raise RetriableError("later")
        return item.upper()

    trying = attempts(timeout_ms=-1)
    assert trying.one_by_one([0, 1], work, ["a", "b"], "") == ["A", "B"]
    assert trying.failures == []


def test_single_column_is_not_copied() -> None:
    """Joining one array returns that array."""
    column = pa.array([1, 2])
    assert joined([column]) is column
    assert joined([column, pa.array([3])]).to_pylist() == [1, 2, 3]


@pytest.mark.parametrize(("took", "times"), [(0.5, 2), (5.0, 1)])
def test_retry_timeout_starts_at_the_first_attempt(took: float, times: int) -> None:
    """A first attempt that took longer than the timeout is the last, as in Kafka Connect."""
    now, calls = [0.0], []

    def work(item: str) -> str:
        calls.append(item)
        now[0] += took
        raise RetriableError("later")

    trying = Attempts(Retry(1000, 1000, Instant(), lambda: now[0]), "TRANSFORMATION", "the.Class")
    assert trying.one_by_one([7], work, ["a"], "") == [""]
    assert calls == ["a"] * times
    assert [each.row for each in trying.failures] == [7]


def accepted(result: Any, _: Any) -> Any:
    """Accept every result."""
    return result


class TwoForms:
    """A step whose batch form raises or reports failed rows, and whose record form finds them."""

    def __init__(
        self, bad: set[int], error: type[Exception] = ValueError, *, names_rows: bool = False, is_late: bool = False
    ) -> None:
        self.bad, self.error, self.names_rows, self.is_late = bad, error, names_rows, is_late
        self.calls: list[str] = []

    def run(self, trying: Attempts, rows: range) -> list[int]:
        """Return all rows, -1 for a failed one."""
        return trying.at_once(rows, lambda: self._batch(rows), accepted, lambda: self._records(trying, rows))

    def _batch(self, rows: range) -> Any:
        self.calls.append("batch")
        errors = {place: self.error("bad row") for place, row in enumerate(rows) if row in self.bad}
        if errors and not self.names_rows:
            raise self.error("a row is bad")
        done = [-1 if row in self.bad else row for row in rows]
        if self.is_late and self.error is not RetriableError:
            late = LateErrors()
            late.add(np.array([*errors], np.int64), lambda place: self.error("bad row"))
            return PartlyFailed(done, late)
        return PartlyFailed(done, errors) if errors else done

    def _records(self, trying: Attempts, rows: range) -> list[int]:
        self.calls.append("records")
        return trying.one_by_one(rows, self._record, rows, -1)

    def _record(self, row: int) -> int:
        if row in self.bad:
            raise self.error("bad row")
        return row


@settings(deadline=None)
@given(
    st.integers(0, 40),
    st.sets(st.integers(0, 39)),
    st.sampled_from([ValueError, RetriableError]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_a_batch_fails_as_its_records_do(
    size: int, bad: set[int], error: type[Exception], names_rows: bool, is_late: bool, is_strict: bool
) -> None:
    """Whatever fails, and however the batch form reports it, the outcome equals that of the record form."""
    step, trying, alone = (
        TwoForms(bad, error, names_rows=names_rows, is_late=is_late),
        attempts(is_strict=is_strict),
        TwoForms(bad, error),
    )
    by_records = attempts(is_strict=is_strict)
    wanted = alone._records(by_records, range(size))
    assert step.run(trying, range(size)) == wanted
    assert [(each.row, each.error.message) for each in trying.failures] == [
        (each.row, each.error.message) for each in by_records.failures
    ]


def test_reported_rows_take_no_second_call() -> None:
    """The other rows stay in columns."""
    step = TwoForms({1}, names_rows=True)
    assert step.run(attempts(), range(3)) == [0, -1, 2]
    assert step.calls == ["batch"]


def test_step_that_raised_gets_records_until_a_batch_succeeds() -> None:
    """A step that fails on every batch is not called without effect, and a repaired one is fast again."""
    step, failing = TwoForms({1, 4}), dict[str, bool]()
    for start in (0, 3, 6, 9):
        trying = Attempts(Retry(0, 1000, Instant()), "TRANSFORMATION", "the.Class", "cast", failing)
        step.run(trying, range(start, start + 3))
    assert step.calls == ["batch", "records", "records", "records", "batch"]


def test_batch_form_that_breaks_its_contract_is_not_called_again(caplog: pytest.LogCaptureFixture) -> None:
    """Its records are still processed, and the log names the plugin once."""
    failing: dict[str, bool] = {}

    def refuse(result: Any, _: Any) -> Any:
        raise PluginError(f"returned {len(result)} values for 2 rows")

    for _ in range(3):
        trying = Attempts(Retry(0, 1000, Instant()), "TRANSFORMATION", "the.Class", "cast", failing)
        assert trying.at_once(range(2), lambda: [0], refuse, lambda: [0, 1]) == [0, 1]
    assert [each.getMessage() for each in caplog.records] == [
        "the.Class gets records instead of batches from now on: returned 1 values for 2 rows"
    ]


def test_a_plugin_may_raise_the_host_s_own_error() -> None:
    """It is an ordinary error, not a broken contract: a successful batch restores the batch form."""
    step, failing = TwoForms({1}, PluginError), dict[str, bool]()
    for start in (0, 2, 4):
        step.run(
            Attempts(Retry(0, 1000, Instant()), "TRANSFORMATION", "the.Class", "it", failing), range(start, start + 2)
        )
    assert step.calls == ["batch", "records", "records", "batch"]


def late(*places: int, error: Any = None) -> LateErrors:
    """Return errors of rows that are created on access."""
    errors = LateErrors()
    errors.add(np.array(places), lambda place: _raise(place) if error is None else error)
    return errors


def _raise(place: int) -> Exception:
    raise DataError(f"nothing to be made of {place}")


@pytest.mark.parametrize(
    ("error", "words"), [(None, "nothing to be made of 1"), ("no error", "returned 'no error' as the error of a row")]
)
def test_error_that_cannot_be_created_is_replaced_by_its_reason(error: Any, words: str) -> None:
    """The row has failed, whatever its error would have been."""
    trying = attempts()
    named = PartlyFailed([0, -1], late(1, error=error))
    assert trying.at_once(range(5, 7), lambda: named, accepted, lambda: [0, 1]) == [0, -1]
    assert [(each.row, each.error.message) for each in trying.failures] == [(6, words)]


@pytest.mark.parametrize(
    "errors", [{2: ValueError("x")}, {-1: ValueError("x")}, {0: "no error"}, {"0": ValueError("x")}, late(2), late(-1)]
)
def test_reported_rows_must_be_rows_of_the_batch(errors: Any) -> None:
    """A plugin that reports other rows is not trusted; its records are still processed."""
    trying = attempts()
    assert trying.at_once(range(2), lambda: PartlyFailed([0, 1], errors), accepted, lambda: [0, 1]) == [0, 1]
    assert trying.failures == []


def test_memory_error_of_a_batch_form_ends_the_task() -> None:
    """No record is to blame."""
    with pytest.raises(MemoryError):
        TwoForms({1}, MemoryError).run(attempts(), range(3))
