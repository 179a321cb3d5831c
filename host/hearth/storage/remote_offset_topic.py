"""An offsets topic in the Kafka cluster of a connector's own clients."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaError, Message, Producer

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.client import Role
from hearth.kafka.token import authorized
from hearth.kafka.topic_reader import TopicReader
from hearth.storage.fenced_producer import WRITE_SECONDS, Record
from hearth.storage.offset_rows import OffsetRows
from hearth_api import RetriableError

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class OwnTopic:
    """A connector's own offsets topic, and the clients that reach it if the cluster's own do not."""

    name: str
    clients: Mapping[Role, Mapping[str, str]] | None = field(default=None, repr=False)
    """librdkafka settings by client."""


class RemoteOffsetTopic:
    """The content of an offsets topic with its own clients. Thread-safe.

    Writers are not fenced there; the caller checks first that this host still leads (see `TopicOffsetStore`).
    """

    def __init__(self, topic: OwnTopic, prepare: Callable[[str, TopicAdmin], int]) -> None:
        """``prepare`` creates or checks the topic and returns its number of partitions."""
        assert topic.clients is not None, "the cluster's own clients reach it"
        self.topic = topic
        self.rows = OffsetRows()
        self._prepare = prepare
        quiet = {"logger": logging.getLogger(CLIENT)}
        self._admin = TopicAdmin(topic.clients["admin"])
        self._producer = Producer(authorized({**topic.clients["producer"], **quiet}))
        self._reader = TopicReader(topic.clients["consumer"], self._admin)
        self._opening = threading.Lock()
        self._is_open = False

    def read_to_end(self, timeout: float) -> None:
        """Read everything written by now, on the first call from the beginning; raise ConnectError on failure."""
        self._open()
        self._reader.read_to_end([self.topic.name], timeout)

    def write(self, records: Sequence[Record], timeout: float = WRITE_SECONDS) -> None:
        """Write records in order; they are durable when this returns. Raises ConnectError on failure."""
        self._open()
        deadline = time.monotonic() + timeout
        faults: list[KafkaError | None] = []

        def note(error: KafkaError | None, _message: Message) -> None:
            faults.append(error)

        try:
            for record in records:
                self._producer.produce(record.topic, record.value, record.key, on_delivery=note)
        except BufferError as error:
            raise self._unwritten("too many records are queued for the broker") from error
        while len(faults) < len(records) and time.monotonic() < deadline:
            self._producer.poll(_POLL_SECONDS)
        if len(faults) < len(records):
            raise self._unwritten(f"no answer within {timeout:g} s")
        if fault := next(filter(None, faults), None):
            raise self._unwritten(fault.str())

    def close(self) -> None:
        """Stop reading and writing."""
        self._producer.purge()
        self._producer.poll(0)
        self._reader.close()

    def _open(self) -> None:
        """Create or check the topic, and start reading it."""
        name = self.topic.name
        with self._opening:
            if not self._is_open:
                self._reader.begin({name: self.rows.take}, {name: self._prepare(name, self._admin)})
                self._is_open = True

    def _unwritten(self, reason: str) -> RetriableError:
        return RetriableError(
            f"offsets are not written to topic {self.topic.name!r}: {reason}",
            code="topics.unwritten",
            hint="check that the brokers at producer.override.bootstrap.servers are running",
        )
