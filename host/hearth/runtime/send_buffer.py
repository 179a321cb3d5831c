"""The send buffer of a source: its records from submission to acknowledgement."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.library import (
    ERR_DESTROY,
    ERR_FATAL,
    ERR_INVALID_DIFFERENT_RECORD,
    ERR_PURGE_INFLIGHT,
    ERR_PURGE_QUEUE,
    ERR_QUEUE_FULL,
    ERR_UNKNOWN_PARTITION,
    ERR_UNKNOWN_TOPIC,
    ERR_UNKNOWN_TOPIC_OR_PART,
)
from hearth.kafka.outgoing import Outgoing, apart
from hearth.kafka.producer import DeliveryReport, Producer
from hearth.runtime.observer import TaskObserver
from hearth.runtime.pipeline import WORKER_CLASS, Prepared
from hearth.runtime.polled_record import PolledRecord, RefusedRecord
from hearth.runtime.position import SourceRows, SubmittedPositions
from hearth.staging.tolerance import Tolerance
from hearth_api import ConnectError
from hearth_api.batch import Batch, PackedRecords
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.order import count_rows, rows_of

if TYPE_CHECKING:
    from hearth.runtime.topic import TopicCreation  # with confluent-kafka's own clients: 6 MB

_AGAIN = (ERR_INVALID_DIFFERENT_RECORD, ERR_QUEUE_FULL)
"""Errors of rows that are themselves fine: another row of their request was refused, or the queue was full."""

_OVER = (ERR_FATAL, ERR_PURGE_QUEUE, ERR_PURGE_INFLIGHT, ERR_DESTROY)
"""Errors of rows lost with their producer: nothing is known about them."""

_ABSENT = (ERR_UNKNOWN_TOPIC, ERR_UNKNOWN_PARTITION, ERR_UNKNOWN_TOPIC_OR_PART)
"""Errors of rows whose topic or partition does not exist: Java's producer waits for it, and skips no such row."""

_CREATE = "create the topic, or let the connector create it (topic.creation.default.partitions and others)"
_HINTS = {
    "MSG_SIZE_TOO_LARGE": "raise producer.override.max.request.size, and max.message.bytes of the topic",
    "TOPIC_EXCEPTION": "a topic's name has at most 249 letters, digits, '.', '_' and '-'; RegexRouter can change it",
    "TOPIC_AUTHORIZATION_FAILED": "let the connector's principal write to the topic",
    "INVALID_RECORD": "a compacted topic accepts no record without a key; ValueToKey can set one",
    "_UNKNOWN_TOPIC": _CREATE,
    "UNKNOWN_TOPIC_OR_PART": _CREATE,
    "_INVALID_DIFFERENT_RECORD": "nothing is sent again within a transaction; where its requests are too large for a "
    "topic lower producer.override.batch.size",
    "_UNKNOWN_PARTITION": "the record names a partition that its topic does not have",
}
"""Hints for records that brokers refuse, by librdkafka's name of the error."""

_UNRECOVERABLE = "Unrecoverable exception from producer send callback"
_NONE = np.empty(0, np.int64)


@dataclass
class _Held:
    """The rows of a span as submitted, by topic, and the last of them that were sent again.

    The producer reads both in place.
    """

    submitted: list[tuple[Outgoing, Any]]
    polled: Sequence[Batch] | None = None
    """The records as polled, if the log shows refused records."""
    again: list[tuple[Outgoing, Any]] = field(default_factory=list)

    def pick(self, first: int, sequence: Any) -> list[tuple[Outgoing, Any]]:
        """Return the rows with these numbers, and keep them in memory; no other rows of the span are in flight."""
        numbered = ((outgoing, first + rows.astype(np.int64)) for outgoing, rows in apart(self.submitted))
        found = ((outgoing, numbers, np.flatnonzero(np.isin(numbers, sequence))) for outgoing, numbers in numbered)
        self.again = [
            (outgoing if len(places) == len(numbers) else outgoing.take(places), numbers[places])
            for outgoing, numbers, places in found
            if len(places)
        ]
        return self.again

    def record(self, row: int, partition: Any, offset: Any) -> RefusedRecord:
        """Return a row for a report."""
        parts = (
            (outgoing, int(np.searchsorted(rows, row))) for outgoing, rows in apart(self.submitted) if row in rows
        )
        outgoing, index = next(parts)
        polled = None if self.polled is None else PolledRecord(self.polled, row)
        return RefusedRecord(outgoing.slice(index, index + 1), partition, offset, polled)


class SendBuffer:
    """Sends the records of a source in order and tracks when each is done.

    A record is done when the broker acknowledged it, or refused it and that is tolerated. A record that was refused
    because of another record in its request is sent again, and order holds (invariant 4): sending pauses until
    everything in flight is answered; then everything of the same source partition from that record on is sent again,
    including what was written meanwhile. So a reader that goes by a record's last occurrence reads each source
    partition in order, as after a restart of the task from there.
    """

    def __init__(
        self,
        producer: Producer,
        topics: TopicCreation | None,
        observer: TaskObserver,
        tolerance: Tolerance,
        confirm: Callable[[list[list[Any]]], None] | None = None,
        *,
        is_atomic: bool = False,
    ) -> None:
        """``confirm`` is called with records that are done, in the form of the stage's ``commit_record``.

        With ``is_atomic`` all records are written or none: a refused record fails the task whatever is tolerated, as
        in Kafka Connect.
        """
        self._is_atomic = is_atomic
        self._producer, self._topics, self._observer = producer, topics, observer
        self._tolerance = tolerance
        self.positions = SubmittedPositions()
        self._line: deque[tuple[Outgoing, Any]] = deque()
        self._refused: list[Any] = []
        self._confirm = confirm
        self._unconfirmed: dict[int, str] = {}
        self._known: dict[str, int] = {}
        """Topics with acknowledged records, each with the number of the last record in flight to it."""
        self._unacknowledged: dict[str, Any] = {}
        """Numbers of the records in flight to topics without acknowledged records."""
        if confirm is not None:
            producer.wants_timestamps = True

    @property
    def is_blocked(self) -> bool:
        """Return whether records wait to be sent."""
        return bool(self._line or self._refused)

    @property
    def is_empty(self) -> bool:
        """Return whether everything was sent and answered."""
        return not self.is_blocked and not self._producer.in_flight

    def submit(self, origins: Sequence[Batch], prepared: Prepared) -> None:
        """Add a poll and the rows to send of it; its other records were dropped."""
        written = np.zeros(count_rows(origins), np.bool_)
        for _, rows in prepared.outgoing:
            written[rows] = True
        held = _Held(prepared.outgoing, origins if self._tolerance.shows_records else None)
        first = self.positions.submit(_read_of(origins), written, held)
        self._confirm_undelivered((first + np.flatnonzero(~written)).tolist())
        for outgoing, rows in prepared.outgoing:
            if len(rows):
                self._enqueue(outgoing, first + rows.astype(np.int64))
        self._observer.unfinished(self.positions.pending)

    def send(self) -> None:
        """Send waiting rows while the producer has room and their topics exist."""
        if self._refused:
            if self._producer.in_flight:
                return
            self._turn_back()
        while self._line and not self._refused and self._may_go(self._first_in_line()):
            outgoing, sequence = self._line.popleft()
            refused = self._producer.send(outgoing, sequence)
            self._observer.sent(len(sequence))
            if refused is not None:
                self._settle([refused])

    def collect(self, wait_ms: int) -> None:
        """Process delivery reports, waiting at most ``wait_ms`` for the first.

        Raises ``ConnectError`` if the broker refused a record and nothing is tolerated, or if the producer cannot
        continue; acknowledgements are processed first.
        """
        self._settle(self._producer.poll(wait_ms))

    def forget_topics(self) -> None:
        """Report every topic again on its next acknowledgement, including those of records already in flight."""
        self._unacknowledged.update((topic, np.array([last])) for topic, last in self._known.items())
        self._known.clear()

    def _first_in_line(self) -> Outgoing:
        """Return the next rows; rows for several topics are split if one of the topics may not exist."""
        outgoing, _ = self._line[0]
        if outgoing.spans and self._topics is not None and not self._topics.has_all(outgoing.spans):
            self._line.extendleft(reversed([*apart([self._line.popleft()])]))
        return self._line[0][0]

    def _may_go(self, outgoing: Outgoing) -> bool:
        is_there = self._topics is None or all(self._topics.ensure(topic) for topic, _, _ in outgoing.by_topic)
        return is_there and self._producer.has_room(outgoing)

    def _enqueue(self, outgoing: Outgoing, sequence: Any) -> None:
        self._line.append((outgoing, sequence))
        for topic, start, end in outgoing.by_topic:
            own = sequence[start:end]
            if topic in self._known:
                self._known[topic] = int(own[-1])
            else:
                self._unacknowledged[topic] = np.append(self._unacknowledged.get(topic, _NONE), own)
            if self._confirm is not None:
                self._unconfirmed.update(dict.fromkeys(own.tolist(), topic))

    def _turn_back(self) -> None:
        """Merge the rows that must be sent again with those that wait, in order."""
        waiting = np.concatenate([_NONE, *(sequence for _, sequence in self._line)])
        recalled = self.positions.recall(np.concatenate(self._refused), waiting)
        self._refused = []
        self._line = deque(part for first, held, sequence in recalled for part in held.pick(first, sequence))
        self._observer.sent_again(sum(len(sequence) for _, sequence in self._line) - len(waiting))

    # Results ---------------------------------------------------------------------------------------------------

    def _settle(self, reports: list[DeliveryReport]) -> None:
        for report in reports:
            self._acknowledge(report)
        for report in reports:
            if report.error.any():
                self._judge(report)
        if reports:
            self._observer.unfinished(self.positions.pending)

    def _acknowledge(self, report: DeliveryReport) -> None:
        done = report.sequence[report.error == 0]
        if self._confirm is not None:
            self._confirm_written(report)
        self.positions.acknowledge(done)
        self._observer.acknowledged(len(done), self._newly_acknowledged(done) if self._unacknowledged else ())

    def _newly_acknowledged(self, done: Any) -> list[str]:
        """Return the topics of which these are the first acknowledged records."""
        done = np.sort(done)
        topics = [topic for topic, numbers in self._unacknowledged.items() if _have_common(done, numbers)]
        self._known.update((topic, int(self._unacknowledged.pop(topic)[-1])) for topic in topics)
        return topics

    def _judge(self, report: DeliveryReport) -> None:
        """Process records that were not written (KIP-779)."""
        again = np.isin(report.error, _AGAIN)
        refused = (report.error != 0) & ~again
        if self._is_atomic and not refused.any():
            refused = again
        elif again.any():
            self._refused.append(report.sequence[again])
        for number in np.unique(report.error[refused]).tolist():
            error = KafkaError(number)
            error.hint = _HINTS.get(error.name)
            rows = report.sequence[report.error == number]
            if number in _OVER:
                raise ConnectError(_UNRECOVERABLE) from error
            if number in _ABSENT or self._is_atomic or not self._tolerance.is_all:
                first = self._record(int(rows[0]))
                raise self._tolerance.exceeded(_failure(error), first, _UNRECOVERABLE) from error
            self._skip(rows, error)

    def _skip(self, rows: Any, error: KafkaError) -> None:
        self._observer.skipped(len(rows), error)
        failure = _failure(error)
        for row in rows.tolist():
            self._tolerance.report(failure, self._record(row) if self._tolerance.shows_records else None)
        self._confirm_undelivered([each for each in rows.tolist() if self._unconfirmed.pop(each, None) is not None])
        self.positions.give_up(rows)
        self._unacknowledged = {topic: sent[~np.isin(sent, rows)] for topic, sent in self._unacknowledged.items()}

    def _record(self, sequence: int) -> RefusedRecord:
        held, row, partition, offset = self.positions.find(sequence)
        record: RefusedRecord = held.record(row, partition, offset)
        return record

    def _confirm_written(self, report: DeliveryReport) -> None:
        assert self._confirm is not None
        columns = (report.sequence, report.error, report.partition, report.offset, report.timestamp)
        rows = zip(*(column.tolist() for column in columns if column is not None))
        records = []
        for number, error, *place in rows:
            if not error and (topic := self._unconfirmed.pop(number, None)) is not None:
                records.append([number, topic, *place])
        if records:
            self._confirm(records)

    def _confirm_undelivered(self, numbers: list[int]) -> None:
        if self._confirm is not None and numbers:
            self._confirm([[number, None, None, None, None] for number in numbers])


def _have_common(one: Any, other: Any) -> bool:
    """Return whether two arrays share a number; the first is sorted."""
    return bool((np.searchsorted(one, other, "right") > np.searchsorted(one, other)).any())


def _read_of(origins: Sequence[Batch]) -> list[SourceRows]:
    if isinstance(origins, PackedRecords):
        return [SourceRows(*own) for own in origins.by_source()]
    return [_rows_of(origin) for origin in origins]


def _rows_of(origin: Batch) -> SourceRows:
    offsets = origin.column("source_offset")
    offsets = pa.nulls(origin.num_rows, pa.string()) if offsets is None else offsets
    return SourceRows(origin.source_partition, offsets, rows_of(origin))


def _failure(error: KafkaError) -> Failure:
    return Failure(0, "KAFKA_PRODUCE", WORKER_CLASS, ErrorInfo.of(error))
