"""A transactional producer with an exclusive right to write: a host that claims it fences every other.

The broker enforces this: each claim of a transactional id gets a new epoch, and writes with an older one are rejected,
however late they arrive.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.token import authorized
from hearth.storage.interface import NotLeading
from hearth_api import ConnectError, RetriableError

log = logging.getLogger(__name__)

WRITE_SECONDS = 30.0
"""Time limit of a write, as ``READ_WRITE_TOTAL_TIMEOUT_MS`` of Kafka Connect's config store."""
_MOST = 10_000
"""Maximum number of records per transaction; the producer's queue holds ten times as many."""


@dataclass(frozen=True)
class Record:
    """A record to write, in the partition that Java's producer would choose for its key; None is a tombstone."""

    topic: str
    key: bytes
    value: bytes | None


@dataclass
class _Write:
    """The records of one caller, with their offsets or the error once they are written."""

    records: Sequence[Record]
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    refusal: KafkaError | None = None
    error: ConnectError | None = None
    is_done: bool = False

    def note(self, error: KafkaError | None, message: Message) -> None:
        """Record the offset after a written record, or its own rejection."""
        if error is None:
            self.offsets[message.topic(), message.partition()] = message.offset() + 1
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self.refusal = error

    def too_large(self) -> ConnectError:
        """Return the error for a record that is too large for the broker."""
        record = max(self.records, key=lambda each: len(each.value or b""))
        return ConnectError(
            f"the record {record.key.decode(errors='replace')!r} is not written to topic {record.topic!r}: it has "
            f"{len(record.key) + len(record.value or b'')} bytes, which is too large",
            code="topics.too_large",
            hint="raise max.message.bytes of the topic and max.request.size of this host",
        )


Fault = Callable[[], ConnectError]
"""Returns a new error for a caller whose records were not written; each caller gets its own object."""


class FencedProducer:
    """A producer that is fenced as soon as another host claims the same transactional id.

    Thread-safe. Writes that arrive during a transaction are written together in the next, by one of the waiting
    threads. Raises ``NotLeading`` once the right is lost, and never claims it again by itself: only the host that the
    group has chosen may do that.
    """

    def __init__(self, config: Mapping[str, Any], on_fenced: Callable[[], None] = lambda: None) -> None:
        """``config`` contains the transactional id; ``on_fenced`` is called once when a write loses the right."""
        self._config = {**config, "logger": logging.getLogger(CLIENT)}
        self._on_fenced = on_fenced
        self._changed = threading.Condition()
        self._is_busy = False
        self._waiting: list[_Write] = []
        self._producer: Producer | None = None
        self._unfinished: Callable[[float], None] | None = None
        self._reason = "this host does not lead its cluster"

    @property
    def has_right(self) -> bool:
        """Return whether this host holds the right to write, as far as it knows."""
        return self._producer is not None

    def claim(self, timeout: float = WRITE_SECONDS) -> None:
        """Claim the right to write; raise ``ConnectError`` if the broker does not grant it."""
        self.relinquish()
        try:
            producer = Producer(authorized(self._config))
            producer.init_transactions(timeout)
        except KafkaException as error:
            raise _unclaimed(error.args[0], self._config["transactional.id"]) from error
        with self._alone():
            self._unfinished = None
            self._producer = producer

    def relinquish(self) -> None:
        """Stop writing; a transaction in progress is completed or aborted first."""
        with self._alone():
            self._producer = None
            self._reason = "this host does not lead its cluster"

    def write(self, records: Sequence[Record], timeout: float = WRITE_SECONDS) -> dict[tuple[str, int], int]:
        """Write all records or none; they are durable when this returns.

        Returns for each topic and partition the offset after its last record. Raises ``RetriableError`` if it is not
        known in time whether they were written, ``NotLeading`` if they were not.
        """
        if not records:
            return {}
        mine = _Write(records)
        with self._changed:
            self._waiting.append(mine)
        with self._alone(unless=lambda: mine.is_done) as is_mine:
            if is_mine:
                self._write_waiting(time.monotonic() + timeout)
        if mine.error is not None:
            raise mine.error
        if not mine.is_done:  # the writing thread was interrupted by an error that is not the broker's (Invariant 1)
            raise _unwritten("the write was interrupted")
        return mine.offsets

    @contextmanager
    def _alone(self, unless: Callable[[], bool] = lambda: False) -> Iterator[bool]:
        """Hold the producer exclusively, unless the condition shows that another thread has done the work."""
        with self._changed:
            self._changed.wait_for(lambda: unless() or not self._is_busy)
            is_mine = not unless()
            self._is_busy = self._is_busy or is_mine
        try:
            yield is_mine
        finally:
            if is_mine:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()

    def _write_waiting(self, deadline: float) -> None:
        """Write what is waiting, in as many transactions as needed."""
        with self._changed:
            waiting, self._waiting = self._waiting, []
        while waiting:
            part = [waiting.pop(0)]
            count = len(part[0].records)
            while waiting and count + len(waiting[0].records) <= _MOST:
                part.append(waiting.pop(0))
                count += len(part[-1].records)
            self._write_together(part, deadline)

    def _write_together(self, writes: Sequence[_Write], deadline: float) -> None:
        """Write in one transaction, or one by one if a record is rejected that the others did not write."""
        fault = self._transact(writes, deadline)
        is_refused = any(write.refusal for write in writes)
        if fault is not None and not is_refused and self._is_free and time.monotonic() < deadline:
            fault = self._transact(writes, deadline)  # an abort resets the sequence numbers after a rejected record
            is_refused = any(write.refusal for write in writes)
        for write in writes:
            if fault is not None and is_refused and len(writes) > 1:
                write.refusal = None
                self._write_together([write], deadline)
                continue
            if fault is not None:
                write.error = fault() if write.refusal is None else write.too_large()
            write.is_done = True

    def _transact(self, writes: Sequence[_Write], deadline: float) -> Fault | None:
        """Write in one transaction; return the error if nothing is written."""
        producer, reason = self._producer, self._reason
        if producer is None:
            return lambda: NotLeading(reason)
        try:
            self._finish(producer, deadline)
            producer.begin_transaction()
            self._unfinished = producer.abort_transaction
            for write in writes:
                self._send(producer, write)
            self._unfinished = producer.commit_transaction
            self._finish(producer, deadline)
        except (KafkaException, BufferError) as error:
            return self._fail(producer, error, deadline)
        return None

    @property
    def _is_free(self) -> bool:
        """Return whether a transaction may start: the last one is complete or nothing of it was written."""
        return self._producer is not None and self._unfinished is None

    def _send(self, producer: Producer, write: _Write) -> None:
        write.offsets.clear()
        try:
            for record in write.records:
                producer.produce(record.topic, record.value, record.key, on_delivery=write.note)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
                write.refusal = error.args[0]
            raise

    def _finish(self, producer: Producer, deadline: float) -> None:
        """Complete the last transaction the way it was started: committing cannot become aborting."""
        if self._unfinished is not None:
            self._unfinished(_left(deadline))
            self._unfinished = None

    def _fail(self, producer: Producer, error: KafkaException | BufferError, deadline: float) -> Fault:
        """End a failed transaction; give up the right if no other transaction can start."""
        cause: KafkaError | None = error.args[0] if isinstance(error, KafkaException) else None
        text = str(error) if cause is None else cause.str()
        if cause is not None and cause.txn_requires_abort():
            self._unfinished = producer.abort_transaction
        if self._unfinished == producer.abort_transaction:
            try:
                self._finish(producer, deadline)
            except KafkaException as another:
                cause = another.args[0]
        if cause is not None and cause.fatal():
            return self._lose(cause)
        return lambda: _unwritten(text)

    def _lose(self, cause: KafkaError) -> Fault:
        self._producer, self._unfinished = None, None
        self._reason = f"this host no longer leads its cluster: {cause.str()}"
        log.warning("%s", self._reason)
        self._on_fenced()
        reason = self._reason
        return lambda: NotLeading(reason)


def _unwritten(reason: str) -> RetriableError:
    return RetriableError(
        f"not written to the topics of the cluster: {reason}",
        code="topics.unwritten",
        hint="check that the brokers are running, then retry",
    )


def _left(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _unclaimed(error: KafkaError, transactional_id: str) -> ConnectError:
    """Return the error for a claim that the broker does not grant."""
    text = f"the right to write to the topics of the cluster, transactional id {transactional_id!r}, was not granted"
    hints = {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "allow the host's principal WRITE and DESCRIBE on that id",
        KafkaError.CLUSTER_AUTHORIZATION_FAILED: "allow the host's principal IDEMPOTENT_WRITE on the cluster",
    }
    usual = "check that the brokers' transaction.state.log.replication.factor does not exceed their number"
    kind = RetriableError if error.retriable() else ConnectError
    return kind(f"{text}: {error.str()}", code="leadership.unclaimed", hint=hints.get(error.code(), usual))
