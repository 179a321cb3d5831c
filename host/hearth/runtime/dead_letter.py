"""The dead letter queue: a topic that keeps the records a sink could not process (KIP-298, KIP-610)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaException, Producer

from hearth.runtime.config.sink import DEAD_LETTER_TOPIC
from hearth.runtime.delivery import Consumed
from hearth.runtime.spec import TaskSpec
from hearth.runtime.topic import TopicAdmin
from hearth_api import ConnectError
from hearth_stage.failure import Failure

log = logging.getLogger(__name__)

REPLICATION_KEY = "errors.deadletterqueue.topic.replication.factor"
CONTEXT_KEY = "errors.deadletterqueue.context.headers.enable"
PREFIX = "__connect.errors."

FLUSH_SECONDS = 30
POLL_SECONDS = 0.05


class DeadLetterReporter:
    """Writes failed records to the dead letter topic: their bytes and headers as consumed, then what went wrong.

    ``report`` may be called from any thread. A record that cannot be written is logged and counts as reported, as in
    Kafka Connect.
    """

    def __init__(self, spec: TaskSpec, producer: Mapping[str, Any], admin: Mapping[str, Any]) -> None:
        self._spec = spec
        self._topic = spec.config[DEAD_LETTER_TOPIC].strip()
        self._with_context = spec.config.get(CONTEXT_KEY, "false").strip().lower() == "true"
        self._ensure_topic(TopicAdmin(admin), int(spec.config.get(REPLICATION_KEY, 3)))
        self._producer = Producer(dict(producer))
        self._closing = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="dead-letters", daemon=True)
        self._poller.start()

    def report(self, failure: Failure, record: Consumed | None) -> Future[None] | None:
        """Send the record; the future completes when the broker has it. A record nobody knows any more is logged."""
        if record is None:
            log.error(
                "%s: a record that was reported is not known any more: %s", self._spec.name, failure.error.message
            )
            return None
        part, row = record.incoming, record.row
        headers = list(part.headers.get(row, ()))
        if self._with_context:
            headers += self._context(failure, record)
        done: Future[None] = Future()
        stamp = int(part.timestamp[row]) if part.timestamp is not None else -1
        times = {"timestamp": stamp} if stamp >= 0 else {}
        value, key = part.value[row].as_py(), part.key[row].as_py()
        try:
            self._send(value, key, headers=headers, on_delivery=lambda error, _: self._settle(done, error), **times)
        except (KafkaException, BufferError) as error:  # too large, for example
            self._settle(done, error)
        return done

    def close(self) -> None:
        """Write what is left and stop."""
        self._closing.set()
        self._poller.join()
        self._producer.flush(FLUSH_SECONDS)

    def _send(self, *record: Any, **rest: Any) -> None:
        try:
            self._producer.produce(self._topic, *record, **rest)
        except BufferError:  # full: the task waits for its dead letters, as for everything it writes
            self._producer.flush(FLUSH_SECONDS)
            self._producer.produce(self._topic, *record, **rest)

    def _ensure_topic(self, admin: TopicAdmin, replication: int) -> None:
        """Create the topic with one partition unless it is there."""
        try:
            if not admin.exists(self._topic):
                admin.create(self._topic, 1, replication)
        except KafkaException as error:
            raise ConnectError(
                f"Could not initialize dead letter queue with topic={self._topic}: {error.args[0].str()}",
                hint=f"create the topic, or set {REPLICATION_KEY} to at most the number of brokers",
            ) from error

    def _context(self, failure: Failure, record: Consumed) -> list[tuple[str, bytes | None]]:
        part, row, error = record.incoming, record.row, failure.error
        members = {
            "topic": part.topic,
            "partition": str(part.partition[row]),
            "offset": str(part.offset[row]),
            "connector.name": self._spec.connector,
            "task.id": str(self._spec.task),
            "stage": failure.stage,
            "class.name": failure.class_name,
            "exception.class.name": error.class_name,
            "exception.message": error.message or None,
            "exception.stacktrace": error.trace or None,
        }
        return [(PREFIX + name, None if text is None else text.encode()) for name, text in members.items()]

    def _settle(self, done: Future[None], error: Any) -> None:
        if error is not None:
            log.error("%s: a dead letter was not written to %s: %s", self._spec.name, self._topic, error)
        done.set_result(None)

    def _poll(self) -> None:
        while not self._closing.is_set():
            self._producer.poll(POLL_SECONDS)
