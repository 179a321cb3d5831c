"""Tolerance: what happens to a record that a step could not process (invariant 3)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from hearth.staging.failure_log import FailureLog
from hearth.staging.plugin_plan import TaskSettings
from hearth_api import ConnectError
from hearth_execution.failure import ErrorInfo, Failure
from hearth_stage.channel import ChannelClosed, Request

_TASK_CLASS = "org.apache.kafka.connect.sink.SinkTask"
"""Class named for records that a task reports: Kafka Connect names the interface, whatever the task's class."""


class FailedRecord(Protocol):
    """A failed record, as it entered the pipeline."""

    def text(self) -> str:
        """Describe the whole record as Kafka Connect's error log does."""

    def place(self, *, with_key: bool = True) -> str:
        """Identify the record in one line, with its key if that may be shown."""


class ToleranceExceeded(ConnectError):
    """A record failed and is not tolerated, so the task fails; its trace starts with the record."""

    code = "task.tolerance"
    java_name = ConnectError.java_name

    def __init__(
        self,
        failure: Failure,
        record: FailedRecord | None,
        text: str = "Tolerance exceeded in error handler",
        *,
        names_key: bool = True,
    ) -> None:
        super().__init__(text)
        self.failure = failure
        self.place = None if record is None else record.place(with_key=names_key)
        place = "" if self.place is None else f"\nrecord: {self.place}"
        self.trace = (
            f"{self.java_name}: {self}{place}\nstage: {failure.phase} with class {failure.class_name}\n"
            f"Caused by: {failure.error.trace}"
        )


class DeadLetters(Protocol):
    """Keeps failed records outside the task."""

    def report(self, failure: Failure, record: Any) -> Future[None]:
        """Keep a record as it was consumed; the future completes when it is durable.

        May be called from any thread and never waits.
        """

    @property
    def is_full(self) -> bool:
        """Return whether the limit of pending letters is reached: no further record that may fail should follow."""


class Tolerance:
    """Decides about failed records: ``none`` fails the task, ``all`` skips them; both report them."""

    def __init__(self, settings: TaskSettings, log: FailureLog, dead_letters: DeadLetters | None = None) -> None:
        self.is_all = settings.is_tolerant
        self.shows_records = settings.shows_records
        """Whether the log shows the failed records themselves."""
        self.is_reporting = settings.logs_failures or dead_letters is not None
        """Whether failed records are reported as they were consumed."""
        self.is_silent = self.is_all and not self.is_reporting
        """Whether failed records are only counted."""
        self.exceeded = partial(ToleranceExceeded, names_key=settings.names_keys)
        """Creates the error with which a record fails the task."""
        self.heard = 0
        """How many reports of the task were received."""
        self._log, self._dead_letters = log, dead_letters
        self._outstanding: list[Future[None]] = []
        self._lock = threading.Lock()

    def judge(self, failures: Sequence[Failure], record_of: Callable[[int], FailedRecord | None]) -> None:
        """Report failures in the order of their records.

        Raises ``ToleranceExceeded`` at the first one if nothing is tolerated: later records are not reached.
        """
        if self.is_silent:
            self.skip(len(failures))
            return
        for failure in sorted(failures, key=lambda each: each.row):
            self.report(failure, record_of(failure.row))

    def skip(self, count: int) -> None:
        """Count failures that are not reported."""
        self._log.failed_unseen(count)

    def report(self, failure: Failure, record: FailedRecord | None) -> Future[None] | None:
        """Report one failure; returns its dead letter, or raises ``ToleranceExceeded`` if nothing is tolerated."""
        self._log.failed(failure, record)
        letter = None if self._dead_letters is None else self._dead_letters.report(failure, record)
        if letter is not None:
            self._log.dead_letter_sent()
            letter.add_done_callback(self._count)
            with self._lock:
                self._outstanding.append(letter)
        if not self.is_all:
            raise self.exceeded(failure, record)
        return letter

    @property
    def is_full(self) -> bool:
        """Return whether the limit of pending dead letters is reached: no more records should be processed for now."""
        return self._dead_letters is not None and self._dead_letters.is_full

    @property
    def is_waiting(self) -> bool:
        """Return whether dead letters are pending."""
        return bool(self._outstanding) or self.is_full

    def settle(self, timeout: float) -> int:
        """Wait up to ``timeout`` seconds until all dead letters are durable; returns how many are still pending.

        Until then no offset past a reported record may be committed (invariant 3). Raises the error of a letter that
        failed: its record is lost, so the task must not continue.
        """
        with self._lock:
            outstanding, self._outstanding = self._outstanding, []
        if not outstanding:
            return 0
        done, late = wait(outstanding, timeout)
        failed = [letter for letter in done if letter.exception() is not None]
        with self._lock:
            self._outstanding += [*late, *failed]
        for letter in failed:
            letter.result()
        return len(late)

    def _count(self, letter: Future[None]) -> None:
        if letter.exception() is None:
            self._log.dead_lettered()
        else:
            self._log.dead_letter_refused()


def reported_by_task(error: ErrorInfo) -> Failure:
    """Return the failure of a record that a sink task reported itself (KIP-610)."""
    return Failure(0, "TASK_PUT", _TASK_CLASS, error)


def answer_when_kept(letter: Future[None] | None, request: Request) -> None:
    """Answer a request when a dead letter is durable, with an error if it failed; may run on any thread."""

    def answer(_: Future[None] | None = None) -> None:
        with suppress(ChannelClosed):  # the requester has ended meanwhile
            request.answer(lambda _: None if letter is None else letter.result())

    if letter is None:
        answer()
    else:
        letter.add_done_callback(answer)
