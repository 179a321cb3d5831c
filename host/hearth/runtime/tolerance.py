"""Tolerance: what becomes of a record that a step could not process (invariant 3)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, Protocol

from hearth.runtime.plan import TaskSettings
from hearth_api import ConnectError
from hearth_execution.failure import ErrorInfo, Failure
from hearth_stage.channel import ChannelClosed, Request

log = logging.getLogger(__name__)


class ToleranceExceeded(ConnectError):
    """A record failed and ``errors.tolerance`` is ``none``, so the task fails with the record's trace."""

    code = "task.tolerance"

    def __init__(self, failure: Failure) -> None:
        super().__init__("Tolerance exceeded in error handler")
        self.failure = failure
        self.trace = (
            f"ToleranceExceeded: {self}: {failure.phase} with class {failure.class_name}\n"
            f"caused by:\n{failure.error.trace}"
        )


class Reporter(Protocol):
    """Takes note of a record that failed, before it is decided whether the task goes on."""

    def report(self, failure: Failure, record: Any) -> Future[None] | None:
        """Report one failure; the future completes when the report is where it belongs (``None``: it is already).

        ``record`` is the record as it was consumed, ``None`` where there is none. May be called from any thread, and
        never waits.
        """

    @property
    def is_full(self) -> bool:
        """Return whether more is under way than the reporter wants to hold: no record that may fail should follow."""

    def close(self) -> None:
        """Finish what is being reported."""


class LogReporter:
    """Writes failures to the log when ``errors.log.enable`` is set, as Kafka Connect words them."""

    is_full = False

    def __init__(self, task: str, *, with_record: bool) -> None:
        self._task = task
        self._with_record = with_record

    def close(self) -> None:
        """Do nothing: the log has it."""

    def report(self, failure: Failure, record: Any) -> None:
        """Log one failure with its trace."""
        text = (
            f"Error encountered in task {self._task}. Executing stage '{failure.phase}' "
            f"with class '{failure.class_name}'"
        )
        if self._with_record and record is not None:
            text += f", where {record.text()}"
        log.error("%s.\n%s", text, failure.error.trace)


class Tolerance:
    """Reports failures and decides: ``none`` fails the task, ``all`` skips the record."""

    def __init__(self, is_all: bool, reporters: Sequence[Reporter] = ()) -> None:
        self.is_all = is_all
        self.has_reporters = bool(reporters)
        self._reporters = reporters
        self._outstanding: list[Future[None]] = []
        self._lock = threading.Lock()

    def judge(self, failures: Sequence[Failure], record_of: Callable[[int], Any] = lambda row: None) -> None:
        """Report failures in the order of their records.

        Raises ``ToleranceExceeded`` at the first where nothing is tolerated: the records behind it are not reached.
        """
        for failure in sorted(failures, key=lambda each: each.row):
            self.report(failure, record_of(failure.row))

    def report(self, failure: Failure, record: Any) -> list[Future[None]]:
        """Report one failure and return what is under way; raises ``ToleranceExceeded`` where nothing is tolerated."""
        reports = [reporter.report(failure, record) for reporter in self._reporters]
        under_way = [report for report in reports if report is not None]
        with self._lock:
            self._outstanding += under_way
        if not self.is_all:
            raise ToleranceExceeded(failure)
        return under_way

    @property
    def is_full(self) -> bool:
        """Return whether a reporter holds as much as it may: no more records should be looked at for now."""
        return any(reporter.is_full for reporter in self._reporters)

    def settle(self, timeout: float) -> int:
        """Wait up to ``timeout`` seconds until every report is where it belongs, and return how many are not.

        Before that no offset beyond a reported record may be committed (Invariant 3). Raises what a report failed
        with: its record is nowhere, so the task must not go on as if it was.
        """
        with self._lock:
            outstanding, self._outstanding = self._outstanding, []
        if not outstanding:
            return 0
        done, late = wait(outstanding, timeout)
        failed = [report for report in done if report.exception() is not None]
        with self._lock:
            self._outstanding += [*late, *failed]
        for report in failed:
            report.result()
        return len(late)


def when_all(reports: Sequence[Future[None]], request: Request) -> None:
    """Answer a request when every report is done, on whichever thread; with an error where one of them failed."""
    left = len(reports)
    lock = threading.Lock()

    def count(_: Future[None] | None = None) -> None:
        nonlocal left
        with lock:
            left -= 1
            is_last = left <= 0
        if is_last:
            with suppress(ChannelClosed):  # who asked has ended meanwhile
                request.answer(lambda _: _check(reports))

    for report in reports:
        report.add_done_callback(count)
    if not reports:
        count()


def _check(reports: Sequence[Future[None]]) -> None:
    for report in reports:
        report.result()


def log_reporters(task: str, settings: TaskSettings) -> list[Reporter]:
    """Return the reporter to the log, if the connector configuration asks for it."""
    return [LogReporter(task, with_record=settings.logs_records)] if settings.logs_failures else []


def trace_of(error: BaseException) -> str:
    """Return the trace to show in a status: that of the plugin where there is one."""
    own: str | None = getattr(error, "trace", None)
    return own if own else ErrorInfo.of(error).trace
