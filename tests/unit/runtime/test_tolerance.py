"""Tolerance: which failures are reported, and which of them ends the task."""

from __future__ import annotations

import logging
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from hearth.runtime.tolerance import LogReporter, Tolerance, ToleranceExceeded, log_reporters, trace_of, when_all
from hearth_api import DataError
from hearth_execution.failure import ErrorInfo, Failure
from hearth_stage.channel import ChannelClosed
from tests.unit.runtime.sample import SETTINGS


@dataclass
class Ledger:
    """A reporter that remembers."""

    reported: list[tuple[int, Any]] = field(default_factory=list)
    answer: Future[None] | None = None
    is_full: bool = False

    def report(self, failure: Failure, record: Any) -> Future[None] | None:
        """Note row and record."""
        self.reported.append((failure.row, record))
        return self.answer

    def close(self) -> None:
        """Hold nothing."""


@dataclass(frozen=True)
class Record:
    """A record as a loop knows it."""

    row: int

    def text(self) -> str:
        """Describe it."""
        return f"consumed record is {{row={self.row}}}"


def failure(row: int) -> Failure:
    """Return the failure of a row."""
    return Failure(row, "VALUE_CONVERTER", "the.Converter", ErrorInfo("data", "E", f"row {row}", f"trace of {row}"))


def test_without_tolerance_the_first_failing_record_ends_the_task() -> None:
    """The failure that is raised is the first record's, whichever step came first; later ones are not reached."""
    ledger = Ledger()
    tolerance = Tolerance(False, [ledger])
    with pytest.raises(ToleranceExceeded, match="Tolerance exceeded in error handler") as caught:
        tolerance.judge([failure(7), failure(3), failure(9)], Record)
    assert caught.value.failure.row == 3
    assert ledger.reported == [(3, Record(3))]


def test_failure_is_reported_before_it_ends_the_task() -> None:
    """Kafka Connect logs and dead-letters a record also where it does not tolerate it."""
    ledger = Ledger()
    with pytest.raises(ToleranceExceeded):
        Tolerance(False, [ledger]).judge([failure(0)])
    assert ledger.reported == [(0, None)]


def test_with_tolerance_every_failure_is_reported_in_order() -> None:
    """All reporters hear of all records, and the task goes on."""
    first, second = Ledger(), Ledger()
    tolerance = Tolerance(True, [first, second])
    tolerance.judge([failure(2), failure(1)], Record)
    assert tolerance.is_all
    assert first.reported == second.reported == [(1, Record(1)), (2, Record(2))]


@pytest.mark.parametrize("is_all", [False, True])
def test_nothing_happens_where_nothing_failed(is_all: bool) -> None:
    """Success is silent."""
    ledger = Ledger()
    Tolerance(is_all, [ledger]).judge([])
    assert ledger.reported == []


def test_error_of_the_task_shows_stage_class_and_the_plugins_trace() -> None:
    """Who reads the status must find the plugin's line."""
    trace = trace_of(ToleranceExceeded(failure(3)))
    assert "VALUE_CONVERTER with class the.Converter" in trace
    assert "trace of 3" in trace


def test_trace_of_any_other_error_is_its_own() -> None:
    """An error without a plugin's trace shows where it was raised here."""
    try:
        raise DataError("here")
    except DataError as error:
        trace = trace_of(error)
    assert "test_trace_of_any_other_error_is_its_own" in trace


def test_commit_waits_for_reports_that_are_under_way() -> None:
    """A record's offset must not be committed before its dead letter is written; what is late is asked for again."""
    under_way: Future[None] = Future()
    tolerance = Tolerance(True, [Ledger(), Ledger(answer=under_way)])
    assert tolerance.report(failure(0), None) == [under_way]
    assert tolerance.settle(0.01) == 1
    assert tolerance.settle(0.01) == 1
    under_way.set_result(None)
    assert tolerance.settle(0.01) == 0
    assert tolerance.settle(0.01) == 0


def test_report_that_failed_is_raised_as_often_as_somebody_asks() -> None:
    """A record whose dead letter was refused is nowhere: nothing may be committed, now or when the task is closed."""
    refused: Future[None] = Future()
    tolerance = Tolerance(True, [Ledger(answer=refused)])
    tolerance.report(failure(0), None)
    refused.set_exception(DataError("topic is gone"))
    for _ in range(2):
        with pytest.raises(DataError, match="topic is gone"):
            tolerance.settle(0)


def test_one_full_reporter_is_enough() -> None:
    """No more records are looked at while a reporter holds as much as it may."""
    assert Tolerance(False, [Ledger(), Ledger(is_full=True)]).is_full
    assert not Tolerance(False, [Ledger()]).is_full


def test_report_that_ends_the_task_is_still_waited_for() -> None:
    """Without tolerance a dead letter is written all the same."""
    under_way: Future[None] = Future()
    tolerance = Tolerance(False, [Ledger(answer=under_way)])
    with pytest.raises(ToleranceExceeded):
        tolerance.report(failure(0), None)
    assert tolerance.settle(0.01) == 1


class Asked:
    """A request that notes how it was answered."""

    def __init__(self) -> None:
        self.answers: list[str] = []

    def answer(self, handler: Any) -> None:
        """Note the answer."""
        try:
            handler(self)
            self.answers.append("done")
        except DataError as error:
            self.answers.append(str(error))


def test_all_reports_are_waited_for() -> None:
    """The last of them answers, once, in whatever order they end; none at all answers at once."""
    none, some = Asked(), Asked()
    when_all([], none)  # type: ignore[arg-type]
    reports: list[Future[None]] = [Future(), Future(), Future()]
    reports[1].set_result(None)
    when_all(reports, some)  # type: ignore[arg-type]
    reports[2].set_result(None)
    assert (none.answers, some.answers) == (["done"], [])
    reports[0].set_result(None)
    assert some.answers == ["done"]


def test_report_that_failed_is_told() -> None:
    """A task must not think that its record is safe."""
    asked = Asked()
    reports: list[Future[None]] = [Future(), Future()]
    when_all(reports, asked)  # type: ignore[arg-type]
    reports[0].set_exception(DataError("refused"))
    reports[1].set_result(None)
    assert asked.answers == ["refused"]


class Gone:
    """A request of a stage that was killed."""

    def answer(self, handler: Any) -> None:
        """Fail as a connection does that was closed."""
        raise ChannelClosed("the other side is gone")


def test_report_that_nobody_waits_for_any_more_ends_quietly(caplog: pytest.LogCaptureFixture) -> None:
    """A buffer full of reports would write a trace for each of them."""
    report: Future[None] = Future()
    when_all([report], Gone())  # type: ignore[arg-type]
    report.set_result(None)
    assert not caplog.records


LINE = "Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class 'the.Converter'"


def test_log_line_is_worded_as_kafka_connects(caplog: pytest.LogCaptureFixture) -> None:
    """Tools that watch for Kafka Connect's line find it."""
    with caplog.at_level(logging.ERROR):
        LogReporter("c-0", with_record=False).report(failure(3), Record(3))
    assert caplog.messages == [f"{LINE}.\ntrace of 3"]


def test_log_line_shows_the_record_where_that_is_allowed(caplog: pytest.LogCaptureFixture) -> None:
    """``errors.log.include.messages`` adds where the record came from."""
    with caplog.at_level(logging.ERROR):
        LogReporter("c-0", with_record=True).report(failure(3), Record(3))
        LogReporter("c-0", with_record=True).report(failure(3), None)
    assert caplog.messages == [f"{LINE}, where consumed record is {{row=3}}.\ntrace of 3", f"{LINE}.\ntrace of 3"]


def test_reporters_are_those_a_configuration_asks_for() -> None:
    """Nothing is logged unless ``errors.log.enable`` says so."""
    assert log_reporters("c-0", SETTINGS) == []
    assert log_reporters("c-0", replace(SETTINGS, logs_records=True)) == []
    (reporter,) = log_reporters("c-0", replace(SETTINGS, logs_failures=True))
    assert isinstance(reporter, LogReporter)
