"""Dead letters, written to a real broker and read back by another client."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Producer as ConfluentProducer

from hearth.broker import KafkaBroker
from hearth.kafka.fetched import Incoming
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.dead_letter import DeadLetterRefused, DeadLetterReporter
from hearth.runtime.plan import DeadLetterPlan
from hearth_api import ConnectError
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.raw_header import raw_column
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually
from tests.unit.runtime.sample import task_plan

FAILURE = Failure(0, "VALUE_CONVERTER", "the.Converter", ErrorInfo("data", "lib.BadError", "bad", "the trace"))
Open = Callable[..., DeadLetterReporter]
_numbers = itertools.count()


@pytest.fixture
def topic() -> str:
    """Name a dead letter topic of its own."""
    return f"dead-{next(_numbers)}"


@pytest.fixture
def open_reporter(broker: KafkaBroker, topic: str) -> Iterator[Open]:
    """Open reporters that are closed after the test."""
    opened: list[DeadLetterReporter] = []

    def new(context: bool = False, replication: int = 1, **producer: str) -> DeadLetterReporter:
        # silent, as the last client that makes topics lives on when its broker has gone
        servers = {"bootstrap.servers": broker.bootstrap_servers, "log_level": "0"}
        settings = {key.replace("_", "."): value for key, value in producer.items()}
        letters = DeadLetterPlan(topic, replication, context, {}, {})
        opened.append(DeadLetterReporter(task_plan("sink"), letters, {**servers, **settings}, servers))
        return opened[-1]

    yield new
    for reporter in opened:
        reporter.close()


@pytest.fixture(scope="module")
def topics(broker: KafkaBroker) -> Topics:
    """Provide the topics of the session's broker."""
    return Topics(broker.bootstrap_servers)


HEADERS = raw_column([[("h", b"1"), ("h", None)], [], []])


def consumed(**rest: Any) -> Incoming:
    """Return three rows of partition 4."""
    return Incoming(
        topic="orders",
        partition=np.full(3, 4, np.int32),
        offset=np.array([70, 71, 72]),
        key=pa.array([b"k", None, b""], pa.binary()),
        value=pa.array([b"\x00bad", None, b""], pa.binary()),
        timestamp=rest.get("timestamp", np.array([1000, 2000, 3000])),
        timestamp_type=1,
        headers=HEADERS,
    )


def test_record_is_kept_as_it_was_consumed(open_reporter: Open, topics: Topics, topic: str) -> None:
    """Bytes and headers are the original ones; a null is not an empty value here, either."""
    reporter = open_reporter()
    reports = [reporter.report(FAILURE, Consumed(consumed(), row)) for row in range(3)]
    for report in reports:
        report.result(TIMEOUT)
    assert topics.read(topic) == [
        Record(b"k", b"\x00bad", (("h", b"1"), ("h", None))),
        Record(None, None),
        Record(b"", b""),
    ]


def test_context_headers_describe_the_failure(open_reporter: Open, topics: Topics, topic: str) -> None:
    """Kafka Connect's ten headers follow the record's own, as text; missing values are null."""
    reporter = open_reporter(context=True)
    silent = replace(FAILURE, error=ErrorInfo("data", "lib.BadError", "", ""))
    for failure in (FAILURE, silent):
        report = reporter.report(failure, Consumed(consumed(), 0))
        report.result(TIMEOUT)
    first, second = topics.read(topic)
    names = [name for name, _ in first.headers]
    assert names[:2] == ["h", "h"]
    context = {name.removeprefix("__connect.errors."): value for name, value in first.headers[2:]}
    assert context == {
        "topic": b"orders",
        "partition": b"4",
        "offset": b"70",
        "connector.name": b"c",
        "task.id": b"0",
        "stage": b"VALUE_CONVERTER",
        "class.name": b"the.Converter",
        "exception.class.name": b"lib.BadError",
        "exception.message": b"bad",
        "exception.stacktrace": b"the trace",
    }
    assert dict(second.headers[-2:]) == {
        "__connect.errors.exception.message": None,
        "__connect.errors.exception.stacktrace": None,
    }


def test_topic_is_created_with_one_partition_or_used_unchanged(
    open_reporter: Open, topics: Topics, topic: str
) -> None:
    """A dead letter topic that exists keeps its settings."""
    assert topic not in topics.names()
    open_reporter()
    assert eventually(lambda: topic in topics.names(), TIMEOUT)  # a broker may tell of it a moment after it was made
    open_reporter(replication=3)


def test_topic_that_cannot_be_created_fails_the_start(open_reporter: Open, topic: str) -> None:
    """Three replicas on one broker is Kafka Connect's classic mistake; the error has a remedy."""
    with pytest.raises(ConnectError, match=f"Could not initialize dead letter queue with topic={topic}") as caught:
        open_reporter(replication=3)
    assert "replication.factor" in str(caught.value.hint)


def test_letter_that_cannot_be_written_does_not_count_as_reported(
    open_reporter: Open, caplog: pytest.LogCaptureFixture
) -> None:
    """Its record would be lost; the error names the record, the topic and the remedy."""
    large = replace(consumed(), value=pa.array([b"x" * 5000] * 3, pa.binary()))
    report = open_reporter(message_max_bytes="2000").report(FAILURE, Consumed(large, 0))
    with pytest.raises(DeadLetterRefused, match="dead letter of orders-4@70 was not taken by topic") as caught:
        report.result(TIMEOUT)
    assert "max.message.bytes" in str(caught.value.hint)
    assert "orders-4@70" in caplog.text


def test_letters_beyond_the_buffer_are_accepted_and_reported_by_is_full(
    open_reporter: Open, topics: Topics, topic: str
) -> None:
    """A report never waits; a caller that checks ``is_full`` stops reading records."""
    reporter = open_reporter(queue_buffering_max_kbytes="1", linger_ms="200")
    large = replace(consumed(), value=pa.array([b"x" * 600] * 3, pa.binary()))
    was_full = reporter.is_full
    reports = [reporter.report(FAILURE, Consumed(large, 0)) for _ in range(9)]
    is_full = reporter.is_full
    for report in reports:
        report.result(TIMEOUT)
    assert (was_full, is_full, reporter.is_full) == (False, True, False)
    assert topics.count(topic) == 9


def test_close_does_not_wait_for_an_unavailable_broker(
    open_reporter: Open, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unwritten letters are logged and dropped: no offset has passed them."""
    monkeypatch.setattr("hearth.runtime.dead_letter.CLOSE_SECONDS", 0.2)
    reporter = open_reporter()
    reporter._producer = ConfluentProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    report = reporter.report(FAILURE, Consumed(consumed(), 0))
    reporter.close()
    assert isinstance(report.exception(), DeadLetterRefused)
    assert "1 dead letters were not written, their records come again" in caplog.text


def test_record_without_timestamp_gets_the_current_time(open_reporter: Open, topics: Topics, topic: str) -> None:
    """Without timestamps from the consumer the letter is still written."""
    report = open_reporter().report(FAILURE, Consumed(consumed(timestamp=None), 0))
    report.result(TIMEOUT)
    assert topics.count(topic) == 1


def test_close_flushes_pending_letters(open_reporter: Open, topics: Topics, topic: str) -> None:
    """A reported letter is not lost at the end of its task."""
    reporter = open_reporter(linger_ms="2000")
    report = reporter.report(FAILURE, Consumed(consumed(), 0))
    reporter.close()
    assert report.done()
    assert topics.count(topic) == 1
