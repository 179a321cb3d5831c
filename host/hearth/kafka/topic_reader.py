"""Reads whole topics and follows them, so that their users see all writes.

Like Kafka Connect's ``KafkaBasedLog``, but one consumer and one thread read all topics of a host.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.token import authorized
from hearth_api import ConnectError, RetriableError

log = logging.getLogger(__name__)

_BATCH = 1_000
_LOOK_SECONDS = 1.0
"""Seconds that the thread waits for a record before it checks whether to end."""
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class StoredRecord:
    """One record of a followed topic; ``value`` is None in a tombstone."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


Taker = Callable[[StoredRecord], None]
Place = tuple[str, int]
"""A topic and a partition."""


class TopicReader:
    """Reads topics from their start and passes every record to its topic's taker, in order per partition.

    Takers are called only on the reader's thread; an exception is logged and the record skipped. Aborted records are
    not passed. ``on_turn`` is called there after each batch of records, and about once a second.
    """

    def __init__(
        self, config: Mapping[str, Any], admin: TopicAdmin, on_turn: Callable[[], None] = lambda: None
    ) -> None:
        self._consumer = Consumer(authorized({**config, "logger": logging.getLogger(CLIENT)}))
        self._admin = admin
        self._on_turn = on_turn
        self._takers: dict[str, Taker] = {}
        self._reached: dict[Place, int] = {}
        self._unassigned: list[TopicPartition] = []
        self._moved = threading.Condition()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="topic-reader", daemon=True)

    def follow(self, takers: Mapping[str, Taker], partitions: Mapping[str, int], timeout: float) -> None:
        """Start to read topics from their start; returns when their present records were taken.

        Raises ``RetriableError`` if that takes more than ``timeout`` seconds.
        """
        self.begin(takers, partitions)
        self.read_to_end(takers, timeout)

    def begin(self, takers: Mapping[str, Taker], partitions: Mapping[str, int]) -> None:
        """Start to read topics from their start, and return at once."""
        places = [(topic, partition) for topic in takers for partition in range(partitions[topic])]
        with self._moved:
            self._takers.update(takers)
            self._reached.update(dict.fromkeys(places, 0))
            self._unassigned += [TopicPartition(*place, OFFSET_BEGINNING) for place in places]
        if not self._thread.is_alive():
            self._thread.start()

    def read_to_end(self, topics: Iterable[str], timeout: float) -> None:
        """Wait until all present records of these topics were taken, including those of open transactions.

        Raises ``RetriableError`` if that takes more than ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        with self._moved:
            places = [place for place in self._reached if place[0] in set(topics)]
        self._await(self._ends(places, deadline), deadline)

    def wait_for(self, places: Mapping[Place, int], timeout: float) -> None:
        """Wait until partitions were read up to these offsets (exclusive); raises RetriableError likewise."""
        self._await(places, time.monotonic() + timeout)

    def position(self, topic: str, partition: int) -> int:
        """Return the offset after the last record that was read of a partition."""
        with self._moved:
            return self._reached.get((topic, partition), 0)

    def close(self) -> None:
        """Stop reading; waits for the end of a topic raise an error."""
        self._closed.set()
        with self._moved:
            self._moved.notify_all()
        if self._thread.is_alive():
            self._thread.join(2 * _LOOK_SECONDS)
        else:
            self._consumer.close()

    def _ends(self, places: Sequence[Place], deadline: float) -> dict[Place, int]:
        """Return the end offsets of partitions; retry while leaders move or a new topic is not known yet."""
        while True:
            left = deadline - time.monotonic()
            try:
                return self._admin.end_offsets(places, max(0.1, left))
            except RetriableError:
                if left < _PAUSE_SECONDS or self._closed.wait(_PAUSE_SECONDS):
                    raise

    def _await(self, ends: Mapping[Place, int], deadline: float) -> None:
        with self._moved:
            while late := [place for place, end in ends.items() if self._reached.get(place, 0) < end]:
                left = deadline - time.monotonic()
                if self._closed.is_set() or self._thread.ident == threading.get_ident():
                    raise ConnectError("the reader of the cluster's topics is closed", code="topics.closed")
                if left <= 0:
                    topic, partition = late[0]
                    raise RetriableError(
                        f"partition {partition} of topic {topic!r} was read up to offset "
                        f"{self._reached.get(late[0], 0)}, but its end is {ends[late[0]]}",
                        code="topics.late",
                        hint="check that its broker is up, and that no transaction on it stays open",
                    )
                self._moved.wait(left)

    def _run(self) -> None:
        try:
            while not self._closed.is_set():
                self._assign()
                self._take(self._read())
                self._on_turn()
        finally:
            self._consumer.close()

    def _assign(self) -> None:
        """Assign newly followed partitions; done on this thread, between two polls."""
        with self._moved:
            places, self._unassigned = self._unassigned, []
        if places:
            self._consumer.incremental_assign(places)

    def _read(self) -> Sequence[Message]:
        """Return waiting messages, or wait for one: ``consume`` alone would wait for a full batch."""
        try:
            first = self._consumer.poll(_LOOK_SECONDS)
            return [] if first is None else [first, *self._consumer.consume(_BATCH, 0)]
        except KafkaException as error:
            log.error("the cluster's topics cannot be read now: %s", error.args[0].str())
            self._closed.wait(_LOOK_SECONDS)
            return []

    def _take(self, messages: Sequence[Message]) -> None:
        """Pass records on, and notify waiting threads; a partition's end counts after the records before it."""
        reached: dict[Place, int] = {}
        for message in messages:
            place = (message.topic(), message.partition())
            if (error := message.error()) is None:
                self._hand_over(message)
                reached[place] = message.offset() + 1
            elif error.code() == KafkaError._PARTITION_EOF:
                reached[place] = message.offset()
            else:
                log.error("topic %s cannot be read now: %s", message.topic(), error.str())
        if reached:
            with self._moved:
                self._reached.update(reached)
                self._moved.notify_all()

    def _hand_over(self, message: Message) -> None:
        record = StoredRecord(message.topic(), message.partition(), message.offset(), message.key(), message.value())
        try:
            self._takers[record.topic](record)
        except Exception:
            log.exception("the record at offset %d of topic %s is skipped", record.offset, record.topic)
