"""The observer: its counts, its reports to the host, and its log lines."""

from __future__ import annotations

import logging
import os
import platform
from dataclasses import replace
from typing import Any

import pytest

from hearth.link.task_counts import FAILED, MOST_REASONS, TaskCounts
from hearth.runtime.link import HostLost
from hearth.runtime.observer import TaskObserver
from hearth.staging.tolerance import ToleranceExceeded
from hearth_api import ConnectError, TopicPartition
from hearth_execution.failure import ErrorInfo
from hearth_stage.poll_times import PollTimes
from tests.unit.runtime.sample import SETTINGS, Record, failure


class Link:
    """A host that records what it receives."""

    def __init__(self) -> None:
        self.is_lost = False
        self.received: list[Any] = []
        self.last_counts: Any = None

    def status(self, state: str, trace: str | None = None, counts: Any = None) -> None:
        """Note a state."""
        if self.is_lost:
            raise HostLost("the link to the host is gone")
        self.received.append((state, trace))
        self.last_counts = counts

    def add_topics(self, topics: list[str]) -> None:
        """Note topics."""
        self.received.append(topics)


@pytest.fixture
def link() -> Link:
    """Provide a host."""
    return Link()


def observer(link: Link, **settings: bool) -> TaskObserver:
    """Return an observer for this host, with settings that are not the usual ones."""
    return TaskObserver("c-0", link, replace(SETTINGS, **settings))  # type: ignore[arg-type]


def test_status_has_reached_the_host_when_the_call_returns(link: Link) -> None:
    """A task runs or is paused."""
    observer(link).runs(is_paused=True)
    observer(link).runs(is_paused=False)
    assert link.received == [("PAUSED", None), ("RUNNING", None)]


def test_run_events_are_logged_once(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """Where it runs, whether it is paused, its partitions, and that it stopped."""
    caplog.set_level(logging.INFO)
    observed = observer(link)
    observed.runs(is_paused=False)
    observed.assigned([TopicPartition("b", 0), TopicPartition("a", 2), TopicPartition("a", 1)])
    observed.runs(is_paused=True)
    observed.revoked([TopicPartition("a", 1)], are_lost=False)
    observed.revoked([], are_lost=False)
    observed.revoked([TopicPartition("a", 2), TopicPartition("b", 0)], are_lost=True)
    observed.ended(None)
    place = f"in process {os.getpid()} of {platform.node()}"
    assert [(each.levelname, each.getMessage()) for each in caplog.records] == [
        ("INFO", f"the task runs {place}"),
        ("INFO", "partitions assigned: a 1, 2; b 0"),
        ("INFO", f"the task is paused {place}"),
        ("INFO", "partitions revoked: a 1"),
        ("WARNING", "partitions lost: a 2; b 0"),
        ("INFO", "the task has stopped"),
    ]


def test_ended_run_reports_unassigned(link: Link) -> None:
    """No run has the task until another starts."""
    observer(link).ended(None)
    assert link.received == [("UNASSIGNED", None)]


def test_failed_run_reports_its_trace(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """In the status and in the log."""
    observer(link).ended(ToleranceExceeded(failure(3), Record(3)))
    ((state, trace),) = link.received
    assert state == "FAILED"
    assert trace.splitlines() == [
        "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler",
        "record: topic 't', partition 0, offset 3",
        "stage: VALUE_CONVERTER with class the.Converter",
        "Caused by: trace of 3",
    ]
    assert "the task is FAILED and stays so until it is restarted" in caplog.text


def test_run_with_a_lost_host_does_not_fail(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """The host cannot receive a status, and the task has not failed."""
    link.is_lost = True
    observer(link).ended(HostLost("gone"))
    assert link.received == []
    assert "the task stops: gone" in caplog.text


def test_topic_is_reported_once_in_a_run(link: Link) -> None:
    """However many batches come (KIP-558)."""
    observed = observer(link)
    observed.acknowledged(5, ["t"])
    observed.acknowledged(5, [])
    observed.put(1, {"t"})
    observed.acknowledged(5, ["t", "u"])
    assert link.received == [["t"], ["u"]]
    assert (observed.counts.acknowledged, observed.counts.put) == (15, 1)


def test_reset_topics_are_reported_again(link: Link) -> None:
    """Those used from then on, and no others."""
    observed = observer(link)
    observed.put(2, {"t"})
    observed.put(2, {"u"})
    observed.forget_topics()
    observed.put(1, {"t"})
    observed.put(1, {"t"})
    assert link.received == [["t"], ["u"], ["t"]]


def test_topics_are_not_reported_without_tracking(link: Link) -> None:
    """``topic.tracking.enable`` is false."""
    observer(link, tracks_topics=False).put(1, {"t"})
    assert link.received == []


def test_errors_are_counted_and_logged(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """One line per batch."""
    caplog.set_level(logging.INFO)
    observed = observer(link)
    observed.sent_again(2)
    observed.put_again(3, ConnectError("not now"))
    observed.skipped(4, ConnectError("too large"))
    observed.commit_failed("away")
    observed.dead_lettered()
    assert observed.counts == TaskCounts(retried=5, skipped=4, dead_lettered=1, commits_failed=1)
    assert caplog.messages == [
        "2 records are sent again because others in their requests were refused",
        "the put is retried: not now",
        "4 records skipped, the broker refused them: too large",
        "offsets were not committed: away",
    ]


LINE = "Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class 'the.Converter'"


def test_log_line_is_worded_as_kafka_connects(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """Tools that watch for Kafka Connect's line find it."""
    observer(link, logs_failures=True).failed(failure(3), Record(3))
    assert caplog.messages == [f"{LINE}.\ntrace of 3"]


def test_log_line_shows_the_record_if_enabled(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """``errors.log.include.messages`` adds where the record came from."""
    observed = observer(link, logs_failures=True, logs_records=True)
    observed.failed(failure(3), Record(3))
    observed.failed(failure(3), None)
    assert caplog.messages == [f"{LINE}, where consumed record is {{row=3}}.\ntrace of 3", f"{LINE}.\ntrace of 3"]


def test_failures_are_logged_only_if_enabled(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """``errors.log.enable``; they are counted in any case."""
    observed = observer(link, logs_records=True)
    observed.failed(failure(3), Record(3))
    assert caplog.messages == []
    assert observed.counts.failed == 1


def test_counts_are_reported_once_and_peaks_start_anew(link: Link) -> None:
    """A report that did not arrive is made again."""
    observed = observer(link)
    observed.poll_returned(PollTimes(2, 10, 0.5, 0.4, 7))
    first = observed.report()
    assert {name: first[name] for name in ("polls", "poll_seconds", "poll_longest", "batch_largest")} == {
        "polls": 2,
        "poll_seconds": 0.5,
        "poll_longest": 0.4,
        "batch_largest": 7,
    }
    assert observed.report() == first
    observed.reported(first)
    assert observed.report() == {}


def test_a_peak_that_grows_while_it_is_reported_is_reported_again(link: Link) -> None:
    """The loop counts on while its host is told."""
    observed = observer(link)
    observed.unfinished(5)
    sent = observed.report()
    observed.unfinished(8)
    observed.reported(sent)
    assert observed.report()["active_most"] == 8


def test_records_are_active_from_their_read_to_their_commit(link: Link) -> None:
    """Over all partitions; those of a revoked one are not the task's any more."""
    here, there = TopicPartition("t", 0), TopicPartition("t", 1)
    observed = observer(link)
    observed.assigned([here, there])
    observed.read({here: 10, there: 0}, {here: 15, there: 4}, 9)
    assert (observed.counts.active, observed.counts.partitions) == (9, 2)
    observed.committed(0.1, {here: 12})
    assert observed.counts.active == 7
    observed.read({here: 15}, {here: 20}, 5)
    assert observed.counts.active == 12
    observed.revoked([here], are_lost=False)
    assert (observed.counts.active, observed.counts.partitions) == (4, 1)


def test_transactions_are_measured_by_their_acknowledged_records(link: Link) -> None:
    """Aborted ones are not."""
    observed = observer(link)
    for count, is_committed in ((5, True), (100, False), (3, True)):
        observed.acknowledged(count, [])
        observed.transaction_ended(is_committed=is_committed)
    counts = observed.counts
    sizes = counts.transaction_records, counts.transaction_largest, counts.transaction_smallest
    assert (counts.transactions, *sizes) == (2, 8, 5, 3)


@pytest.mark.parametrize(
    ("phase", "is_tolerant", "counted"),
    [
        ("VALUE_CONVERTER", True, (1, 1, 1)),
        ("VALUE_CONVERTER", False, (1, 1, 0)),
        ("TASK_PUT", True, (1, 0, 0)),
        ("TASK_PUT", False, (1, 1, 0)),
        ("KAFKA_PRODUCE", True, (1, 1, 0)),
    ],
)
def test_failures_are_counted_as_in_kafka_connect(
    link: Link, phase: str, is_tolerant: bool, counted: tuple[int, int, int]
) -> None:
    """What a sink reports itself is an error only if it is not tolerated; refused records are skipped elsewhere."""
    observed = observer(link, is_tolerant=is_tolerant)
    observed.failed(replace(failure(0), phase=phase), None)
    counts = observed.counts
    assert (counts.failures, counts.errors, counts.skipped) == counted


def test_a_retriable_error_that_lasts_counts_its_attempts_and_its_end(link: Link) -> None:
    """As in Kafka Connect: two retries of three attempts make four."""
    observed = TaskObserver("c-0", link, replace(SETTINGS, retry_timeout_ms=1000))  # type: ignore[arg-type]
    observed.step_retried()
    observed.step_retried()
    info = ErrorInfo("retriable", "the.Error", "not now", "trace")
    observed.failed(replace(failure(0), error=info), None)
    assert (observed.counts.retries, observed.counts.failures, observed.counts.errors) == (2, 4, 1)


def test_last_counts_go_with_the_end(link: Link) -> None:
    """There is no heartbeat after it."""
    observed = observer(link)
    observed.sent(3)
    observed.ended(None)
    assert link.last_counts == {"sent": 3}


def test_committed_offsets_are_reported_by_partition(link: Link) -> None:
    """From the assignment on, and only those that changed."""
    here, there = TopicPartition("t", 0), TopicPartition("t", 1)
    observed = observer(link)
    observed.assigned([here, there], {here: 5})
    assert observed.report() == {"partitions": 2, "assigned/t": 2, "committed/t/0": 5}
    observed.reported(observed.report())
    observed.read({there: 8}, {there: 9}, 1)
    assert {name: value for name, value in observed.report().items() if name.startswith("committed")} == {
        "committed/t/1": 8
    }


def test_failures_are_counted_by_their_reason(link: Link) -> None:
    """As many reasons as fit, and the rest together."""
    observed = observer(link)
    for number in range(MOST_REASONS + 5):
        error = ErrorInfo("data", f"the.Error{number}", "", "")
        observed.failed(replace(failure(0), error=error), None)
    found = {name: value for name, value in observed.report().items() if name.startswith(FAILED)}
    assert len(found) == MOST_REASONS + 1
    assert found[f"failed/{failure(0).phase}/other"] == 5
