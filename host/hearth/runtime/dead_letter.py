"""The dead letter queue: a topic that keeps the records a sink could not process (KIP-298, KIP-610)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from confluent_kafka import KafkaException, Producer

from hearth.kafka.admin import TopicAdmin
from hearth.kafka.letter_context import PREFIX
from hearth.kafka.producer import DEFAULT_KBYTES
from hearth.kafka.token import authorized
from hearth.runtime.consumed_record import Consumed
from hearth.runtime.plan import DeadLetterPlan, TaskPlan
from hearth_api import ConnectError
from hearth_execution.failure import Failure
from hearth_execution.raw_header import raw_rows

log = logging.getLogger(__name__)

REPLICATION_KEY = "errors.deadletterqueue.topic.replication.factor"

CLOSE_SECONDS = 5
POLL_SECONDS = 0.05


class DeadLetterRefused(ConnectError):
    """A dead letter cannot be written, so its record would be lost: the task fails instead of passing it."""

    code = "task.dead_letter"


class DeadLetterReporter:
    """Writes failed records to the dead letter topic: bytes and headers as consumed, plus the error.

    ``report`` may be called from any thread and never waits. When more letters are in flight than the producer may
    hold (``buffer.memory``), ``is_full`` is true and the loop stops reading records. A letter counts once the broker
    has it. One that the broker refuses permanently fails the task, where Kafka Connect only logs it and continues
    (Invariant 3).
    """

    def __init__(
        self, plan: TaskPlan, letters: DeadLetterPlan, producer: Mapping[str, Any], admin: Mapping[str, Any]
    ) -> None:
        """``producer`` and ``admin`` are the clients' settings, named for the task."""
        self._plan, self._topic, self._with_context = plan, letters.topic, letters.has_context
        self._ensure_topic(TopicAdmin(admin), letters.replication_factor)
        config = dict(producer)
        self._most_bytes = int(config.pop("queue.buffering.max.kbytes", DEFAULT_KBYTES)) * 1024
        # The limit is kept here: librdkafka's own would block the stage's reader thread.
        self._producer = Producer(
            authorized({**config, "queue.buffering.max.messages": 0, "queue.buffering.max.kbytes": 2097151})
        )
        self._bytes = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="dead-letters", daemon=True)
        self._poller.start()

    @property
    def is_full(self) -> bool:
        """Return whether letters of ``buffer.memory`` bytes or more are in flight."""
        return self._bytes >= self._most_bytes

    def report(self, failure: Failure, record: Consumed) -> Future[None]:
        """Send the record; the future completes when the broker has it, or with ``DeadLetterRefused``."""
        letter = DeadLetter.of(failure, record, self._plan if self._with_context else None)
        sent = _Sent(record, letter.size)
        self._count(sent.size)
        times = {} if letter.timestamp is None else {"timestamp": letter.timestamp}
        try:
            settle = partial(self._settle, sent)
            self._producer.produce(
                self._topic, letter.value, letter.key, headers=letter.headers, on_delivery=settle, **times
            )
        except (KafkaException, BufferError) as error:  # too large, for example
            self._settle(sent, error)
        return sent.done

    def close(self) -> None:
        """Flush for a few seconds. Offsets have not passed the records whose letters cannot be written any more."""
        self._closing.set()
        self._poller.join()
        if left := self._producer.flush(CLOSE_SECONDS):
            log.warning("%s: %d dead letters were not written, their records come again", self._plan.name, left)
            self._producer.purge()
            self._producer.poll(0)

    def _ensure_topic(self, admin: TopicAdmin, replication: int) -> None:
        """Create the topic with one partition unless it exists."""
        try:
            if not admin.exists(self._topic):
                admin.create(self._topic, 1, replication)
        except KafkaException as error:
            raise ConnectError(
                f"Could not initialize dead letter queue with topic={self._topic}: {error.args[0].str()}",
                hint=f"create the topic, or set {REPLICATION_KEY} to at most the number of brokers",
            ) from error

    def _settle(self, sent: _Sent, error: Any, _: Any = None) -> None:
        self._count(-sent.size)
        if error is None:
            sent.done.set_result(None)
            return
        where = f"{sent.record.partition}@{sent.record.offset}"
        refused = DeadLetterRefused(
            f"the dead letter of {where} was not taken by topic {self._topic!r}: {error}",
            hint="its record is not committed; fix the topic (its access, max.message.bytes), then restart the task",
        )
        log.error("%s: %s", self._plan.name, refused)
        sent.done.set_exception(refused)

    def _count(self, size: int) -> None:
        with self._lock:
            self._bytes += size

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(POLL_SECONDS)


@dataclass(frozen=True)
class DeadLetter:
    """A record for the dead letter topic: bytes, time and headers as consumed, plus the error.

    With ``timestamp`` None the letter gets the time at which it is sent.
    """

    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: list[tuple[str, bytes | None]]

    @classmethod
    def of(cls, failure: Failure, record: Consumed, plan: TaskPlan | None) -> DeadLetter:
        """Return the letter of a record, with headers about the error if ``plan`` is given."""
        part, row = record.incoming, record.row
        stamp = int(part.timestamp[row]) if part.timestamp is not None else -1
        context = [] if plan is None else _context(failure, record, plan)
        own = [] if part.headers is None else raw_rows(part.headers[row : row + 1])[0]
        return cls(part.key[row].as_py(), part.value[row].as_py(), stamp if stamp >= 0 else None, [*own, *context])

    @property
    def size(self) -> int:
        """Return its size in bytes, without the names of headers."""
        return sum(len(each or b"") for each in (self.key, self.value, *(own for _, own in self.headers)))


def _context(failure: Failure, record: Consumed, plan: TaskPlan) -> list[tuple[str, bytes | None]]:
    part, row, error = record.incoming, record.row, failure.error
    members = {
        "topic": part.topic,
        "partition": str(part.partition[row]),
        "offset": str(part.offset[row]),
        "connector.name": plan.connector,
        "task.id": str(plan.task),
        "stage": failure.phase,
        "class.name": failure.class_name,
        "exception.class.name": error.class_name,
        "exception.message": error.message or None,
        "exception.stacktrace": error.trace or None,
    }
    return [(PREFIX + name, None if text is None else _bytes(text)) for name, text in members.items()]


def _bytes(text: str) -> bytes:
    """Encode a header's text. What UTF-8 cannot hold becomes a question mark, as in Java; no letter is lost."""
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class _Sent:
    """A letter in flight."""

    record: Consumed
    size: int
    done: Future[None] = field(default_factory=Future)
