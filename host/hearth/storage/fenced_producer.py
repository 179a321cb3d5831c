"""Writes that one host at a time may do: who claims the right takes it from every other, for certain.

The broker itself keeps it: each claim of a transactional id gives it a new epoch, and what comes with an older one is
refused, however late it comes.
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
"""How long a write may take, as ``READ_WRITE_TOTAL_TIMEOUT_MS`` of Kafka Connect's config store."""
_MOST = 10_000
"""Most records of one transaction: the producer's queue takes ten times as many."""


@dataclass(frozen=True)
class Record:
    """What is to be written, where Java's producer would put a record with this key; None is a tombstone."""

    topic: str
    key: bytes
    value: bytes | None


@dataclass
class _Write:
    """Records that one caller wants written, and what became of them: their places, or why there are none."""

    records: Sequence[Record]
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    refusal: KafkaError | None = None
    error: ConnectError | None = None
    is_done: bool = False

    def note(self, error: KafkaError | None, message: Message) -> None:
        """Note where a record was written, the offset behind it counts, or that it was refused for its own sake."""
        if error is None:
            self.offsets[message.topic(), message.partition()] = message.offset() + 1
        elif error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            self.refusal = error

    def too_large(self) -> ConnectError:
        """Return what is said of a record that no broker takes."""
        record = max(self.records, key=lambda each: len(each.value or b""))
        return ConnectError(
            f"the record {record.key.decode(errors='replace')!r} is not written to topic {record.topic!r}: it has "
            f"{len(record.key) + len(record.value or b'')} bytes, which is too large",
            code="topics.too_large",
            hint="max.message.bytes of the topic and max.request.size of this host say how large a record may be",
        )


Fault = Callable[[], ConnectError]
"""Makes what a caller is told whose records are not written: everybody has an object of his own."""


class FencedProducer:
    """A producer whose right to write is taken from it as soon as another host claims the same transactional id.

    Used from any thread. What is written while a transaction is under way goes together in the next one, which one of
    the waiting threads sees to. Raises ``NotLeading`` from the moment the right is gone, and never takes it again by
    itself: that may only a host that its group has chosen.
    """

    def __init__(self, config: Mapping[str, Any], on_fenced: Callable[[], None] = lambda: None) -> None:
        """``config`` names the transactional id; ``on_fenced`` is called once when the right is lost by a write."""
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
        """Return whether nobody is known to have taken the right to write from this host."""
        return self._producer is not None

    def claim(self, timeout: float = WRITE_SECONDS) -> None:
        """Take the right to write from whoever has it; raises ``ConnectError`` where the broker does not give it."""
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
        """Write nothing any more; what is under way ends first, one way or the other."""
        with self._alone():
            self._producer = None
            self._reason = "this host does not lead its cluster"

    def write(self, records: Sequence[Record], timeout: float = WRITE_SECONDS) -> dict[tuple[str, int], int]:
        """Write records, all of them or none; they are durable when this returns.

        Returns for each topic and partition the offset behind the last of them. Raises ``RetriableError`` where it is
        not known in time whether they were written, ``NotLeading`` where they were not.
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
        if not mine.is_done:  # who saw to it was interrupted by what no broker says (Invariant 1)
            raise _unwritten("whoever wrote it was interrupted")
        return mine.offsets

    @contextmanager
    def _alone(self, unless: Callable[[], bool] = lambda: False) -> Iterator[bool]:
        """Be the one who works with the producer, or find that somebody else has done what was to be done."""
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
        """Write what is waiting, in as many transactions as it needs."""
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
        """Write in one transaction, or one by one where a record is refused that the others did not write."""
        fault = self._transact(writes, deadline)
        is_refused = any(write.refusal for write in writes)
        if fault is not None and not is_refused and self._is_free and time.monotonic() < deadline:
            fault = self._transact(writes, deadline)  # an abort mends what a refused record has left, its numbers
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
        """Write in one transaction; returns why nothing is written."""
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
        """Return whether another transaction may begin, so that nothing of the last is written."""
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
        """Bring the last transaction to its end, by what was begun to: the other is not allowed any more."""
        if self._unfinished is not None:
            self._unfinished(_left(deadline))
            self._unfinished = None

    def _fail(self, producer: Producer, error: KafkaException | BufferError, deadline: float) -> Fault:
        """Bring a transaction that went wrong to its end; the right is gone where there can be no other."""
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
        self._reason = f"this host does not lead its cluster any more: {cause.str()}"
        log.warning("%s", self._reason)
        self._on_fenced()
        reason = self._reason
        return lambda: NotLeading(reason)


def _unwritten(reason: str) -> RetriableError:
    return RetriableError(
        f"not written to the topics of the cluster: {reason}",
        code="topics.unwritten",
        hint="look whether the brokers are there; the same may succeed later",
    )


def _left(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _unclaimed(error: KafkaError, transactional_id: str) -> ConnectError:
    """Return what is said where the right to write cannot be had."""
    text = f"the right to write to the topics of the cluster, transactional id {transactional_id!r}, cannot be had"
    hints = {
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: "allow the host's principal WRITE and DESCRIBE on that id",
        KafkaError.CLUSTER_AUTHORIZATION_FAILED: "allow the host's principal IDEMPOTENT_WRITE on the cluster",
    }
    usual = "look whether transaction.state.log.replication.factor of the brokers fits their number"
    kind = RetriableError if error.retriable() else ConnectError
    return kind(f"{text}: {error.str()}", code="leadership.unclaimed", hint=hints.get(error.code(), usual))
