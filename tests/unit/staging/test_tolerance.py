"""Tolerance: which failures are reported, and which one ends the task."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

from hearth.runtime.consumed_record import Consumed
from hearth.runtime.observer import TaskObserver
from hearth.staging.tolerance import Tolerance, ToleranceExceeded, answer_when_kept
from hearth_api import DataError
from hearth_api.batch import Batch
from hearth_execution.failure import Failure
from hearth_stage.channel import ChannelClosed
from tests.unit.runtime.sample import SETTINGS, Record, failure

TOLERANT = replace(SETTINGS, is_tolerant=True)


class Ledger(TaskObserver):
    """A failure log that remembers failures."""

    def __init__(self) -> None:
        super().__init__("c-0", None, SETTINGS)  # type: ignore[arg-type]
        self.entries: list[tuple[int, Any]] = []

    def failed(self, failure: Failure, record: Any) -> None:
        """Record row and record."""
        super().failed(failure, record)
        self.entries.append((failure.row, record))


@dataclass
class Letters:
    """A dead letter queue that remembers reports, and answers when the test says so."""

    reported: list[tuple[int, Any]] = field(default_factory=list)
    failures: list[tuple[Failure, Any]] = field(default_factory=list)
    answer: Future[None] = field(default_factory=Future)
    is_full: bool = False

    def report(self, failure: Failure, record: Any) -> Future[None]:
        """Record row and record."""
        self.reported.append((failure.row, record))
        self.failures.append((failure, record))
        return self.answer


def test_without_tolerance_the_first_failing_record_ends_the_task() -> None:
    """The raised failure is the first record's, whichever step ran first; later records are not reached."""
    ledger = Ledger()
    tolerance = Tolerance(SETTINGS, ledger)
    with pytest.raises(ToleranceExceeded, match="Tolerance exceeded in error handler") as caught:
        tolerance.judge([failure(7), failure(3), failure(9)], Record)
    assert caught.value.failure.row == 3
    assert ledger.entries == [(3, Record(3))]


def test_failure_is_reported_before_it_ends_the_task() -> None:
    """Kafka Connect logs and dead-letters a record even without tolerance."""
    ledger, letters = Ledger(), Letters()
    with pytest.raises(ToleranceExceeded):
        Tolerance(SETTINGS, ledger, letters).judge([failure(0)], Record)
    assert ledger.entries == letters.reported == [(0, Record(0))]


@pytest.mark.parametrize("names_keys", [True, False])
def test_trace_has_the_key_if_permitted(names_keys: bool) -> None:
    """If records are not logged, the key is neither in the log nor in the trace of the task."""
    tolerance = Tolerance(replace(SETTINGS, names_keys=names_keys), Ledger())
    with pytest.raises(ToleranceExceeded) as caught:
        tolerance.judge([failure(0)], lambda _: Consumed.of(bad_record()))
    assert f"offset 7{', key ' if names_keys else ', 2 bytes'}" in caught.value.trace


def test_with_tolerance_every_failure_is_reported_in_order() -> None:
    """Log and dead letter queue get all records, and the task continues."""
    ledger, letters = Ledger(), Letters()
    tolerance = Tolerance(TOLERANT, ledger, letters)
    tolerance.judge([failure(2), failure(1)], Record)
    assert tolerance.is_all
    assert ledger.entries == letters.reported == [(1, Record(1)), (2, Record(2))]
    assert ledger.counts.failed == 2


def test_unreported_failures_are_counted() -> None:
    """Neither the log nor a dead letter queue shows them."""
    ledger = Ledger()
    tolerance = Tolerance(TOLERANT, ledger)
    tolerance.judge([failure(2), failure(1)], Record)
    tolerance.skip(3)
    assert tolerance.is_silent
    assert (ledger.entries, ledger.counts.failed) == ([], 5)


@pytest.mark.parametrize("is_tolerant", [False, True])
def test_nothing_happens_where_nothing_failed(is_tolerant: bool) -> None:
    """Success is silent."""
    ledger = Ledger()
    Tolerance(replace(SETTINGS, is_tolerant=is_tolerant), ledger).judge([], Record)
    assert ledger.entries == []


def test_commit_waits_for_pending_reports() -> None:
    """A record's offset must not be committed before its dead letter is written; a late one is awaited again."""
    ledger, letters = Ledger(), Letters()
    tolerance = Tolerance(TOLERANT, ledger, letters)
    assert tolerance.report(failure(0), None) is letters.answer
    assert tolerance.settle(0.01) == 1
    assert tolerance.settle(0.01) == 1
    assert ledger.counts.dead_lettered == 0
    letters.answer.set_result(None)
    assert tolerance.settle(0.01) == 0
    assert tolerance.settle(0.01) == 0
    assert ledger.counts.dead_lettered == 1


def test_failed_report_is_raised_each_time() -> None:
    """A record whose dead letter was refused is lost: nothing may be committed, now or at the close of the task."""
    ledger, letters = Ledger(), Letters()
    tolerance = Tolerance(TOLERANT, ledger, letters)
    tolerance.report(failure(0), None)
    letters.answer.set_exception(DataError("topic is gone"))
    for _ in range(2):
        with pytest.raises(DataError, match="topic is gone"):
            tolerance.settle(0)
    assert ledger.counts.dead_lettered == 0


def test_full_dead_letter_buffer_is_reported() -> None:
    """No more records are processed while the limit of pending letters is reached."""
    assert Tolerance(TOLERANT, Ledger(), Letters(is_full=True)).is_full
    assert not Tolerance(TOLERANT, Ledger(), Letters()).is_full
    assert not Tolerance(TOLERANT, Ledger()).is_full


def test_report_that_ends_the_task_is_still_waited_for() -> None:
    """Without tolerance a dead letter is written as well."""
    tolerance = Tolerance(SETTINGS, Ledger(), Letters())
    with pytest.raises(ToleranceExceeded):
        tolerance.report(failure(0), None)
    assert tolerance.settle(0.01) == 1


class Asked:
    """A request that records its answer."""

    def __init__(self) -> None:
        self.answers: list[str] = []

    def answer(self, handler: Any) -> None:
        """Record the answer."""
        try:
            handler(self)
            self.answers.append("done")
        except DataError as error:
            self.answers.append(str(error))


def test_report_is_answered_when_its_letter_is_durable() -> None:
    """Not before, and at once without a dead letter queue."""
    none, some = Asked(), Asked()
    answer_when_kept(None, none)  # type: ignore[arg-type]
    letter: Future[None] = Future()
    answer_when_kept(letter, some)  # type: ignore[arg-type]
    assert (none.answers, some.answers) == (["done"], [])
    letter.set_result(None)
    assert some.answers == ["done"]


def test_failed_report_is_answered_with_the_error() -> None:
    """A task must not believe that its record is safe."""
    asked = Asked()
    letter: Future[None] = Future()
    answer_when_kept(letter, asked)  # type: ignore[arg-type]
    letter.set_exception(DataError("refused"))
    assert asked.answers == ["refused"]


def bad_record() -> Batch:
    """Return a record as a stage sends it back."""
    row = {"partition": [1], "offset": [7], "key": [b"k"], "value": [b"v"]}
    types = {"partition": pa.int32(), "offset": pa.int64(), "key": pa.binary(), "value": pa.binary()}
    columns = [pa.array(values, types[name]) for name, values in row.items()]
    return Batch("t", None, None, pa.RecordBatch.from_arrays(columns, names=list(row)))


class Gone:
    """A request of a killed stage."""

    def fail(self, error: BaseException) -> None:
        """Fail like a closed connection."""
        raise ChannelClosed("the other side is gone")

    def answer(self, handler: Any) -> None:
        """Fail like a closed connection."""
        raise ChannelClosed("the other side is gone")


def test_report_of_a_closed_stage_ends_quietly(caplog: pytest.LogCaptureFixture) -> None:
    """A buffer full of reports would otherwise log a trace for each of them."""
    report: Future[None] = Future()
    answer_when_kept(report, Gone())  # type: ignore[arg-type]
    report.set_result(None)
    assert not caplog.records
