"""Shows which records a source writes: the first ones, then their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from hearth.kafka.token import authorized

SHOWN = 10
"""Records that are shown after each start of the connector; later ones are counted."""
COUNT_SECONDS = 10.0
"""Seconds between two counts."""
_LONGEST = 300
_MOST = 10_000
_TIMEOUT = 5.0


class WrittenRecords:
    """Reads the topics of a source, without joining a group.

    A topic is read from its last records on, because the first ones exist before the topic is known.
    """

    def __init__(
        self, bootstrap_servers: str, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``note`` shows a line."""
        own = {"group.id": "hearth-run", "enable.auto.commit": "false", "log_level": "0"}
        self._consumer = Consumer(authorized({"bootstrap.servers": bootstrap_servers, **own}))
        self._note, self._clock = note, clock
        self._topics: set[str] = set()
        self._left, self._more, self._due = SHOWN, 0, 0.0

    def restart(self) -> None:
        """Show the next records in full again."""
        self._left, self._more = SHOWN, 0

    def look(self, topics: Iterable[str]) -> None:
        """Show or count the new records of these topics; does not wait for any."""
        for topic in sorted(set(topics) - self._topics):
            self._follow(topic)
        for message in self._consumer.consume(_MOST, timeout=0):
            if message.error() is not None:
                continue
            if self._left:
                self._left -= 1
                self._note(_text(message))
            else:
                self._more += 1
        if self._more and self._clock() >= self._due:
            self._note(f"{self._more:,} more records")
            self._more, self._due = 0, self._clock() + COUNT_SECONDS

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()

    def _follow(self, topic: str) -> None:
        try:
            found = self._consumer.list_topics(topic, timeout=_TIMEOUT).topics[topic]
            starts = []
            for partition in found.partitions:
                low, high = self._consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_TIMEOUT)
                starts.append(TopicPartition(topic, partition, max(low, high - SHOWN)))
            self._consumer.incremental_assign(starts)
        except KafkaException:
            return  # the next look tries again
        self._topics.add(topic)


def _text(message: Message) -> str:
    key, value = (None if part is None else _shortened(part) for part in (message.key(), message.value()))
    return f"{message.topic()}: {'null' if value is None else value}" + ("" if key is None else f", key {key}")


def _shortened(part: bytes) -> str:
    text = part.decode("utf-8", "backslashreplace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(part):,} bytes)"
