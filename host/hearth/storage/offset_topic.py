"""Source offsets in Kafka topics: the cluster's, and connectors' own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from hearth.kafka.topic_reader import StoredRecord, TopicReader
from hearth.storage.fenced_producer import FencedProducer
from hearth.storage.interface import OffsetStore
from hearth.storage.memory import partition_key
from hearth.storage.offset_rows import OffsetRow, OffsetRows, Offsets
from hearth.storage.remote_offset_topic import OwnTopic, RemoteOffsetTopic

READ_SECONDS = 90.0
"""Time limit for reading to the end: the transaction of a killed task stays open for a minute unless fenced."""


class TopicOffsetStore(OffsetStore):
    """Keeps offsets in the cluster's topic, and in a connector's own topic if it names one.

    If both topics have a partition, the connector's own takes precedence. What is written to one is written to the
    other, in one transaction (Invariant 5) if both are in the same Kafka cluster. A partition keeps the key bytes of
    its first writer, because Java's lookup and compaction depend on them.
    """

    def __init__(
        self,
        topic: str,
        reader: TopicReader,
        producer: FencedProducer,
        prepare: Callable[[str], int],
        own_topic: Callable[[str], OwnTopic | None] = lambda connector: None,
        open_far: Callable[[OwnTopic], RemoteOffsetTopic] | None = None,
    ) -> None:
        """``prepare`` creates or checks a connector's own topic and returns its number of partitions.

        ``own_topic`` names it, or raises LookupError for an unknown connector. ``open_far`` opens one that the
        cluster's clients do not reach.
        """
        self._topic = topic
        self._reader = reader
        self._producer = producer
        self._prepare = prepare
        self._own_topic = own_topic
        self._open_far = open_far
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._topics = {topic: OffsetRows()}
        self._own_topics: dict[str, OwnTopic | None] = {}
        self._far: list[RemoteOffsetTopic] = []

    def take(self, record: StoredRecord) -> None:
        """Apply a record of one of the topics."""
        self._topics[record.topic].take(record)

    def get(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Look each partition up, after reading everything written by now, including tasks' transactions."""
        rows = self._rows(connector)
        found = [rows.get(partition_key(partition)) for partition in partitions]
        return [None if row is None else row.offset for row in found]

    def put(self, connector: str, offsets: Offsets) -> None:
        """Write offsets in one transaction; readers read to the end first, so this does not wait for them to appear.

        A task of another connector may hold a transaction open on the same partition for a long time. Removals go to
        the cluster's topic first, and offsets to the connector's own first, so that a concurrent reader finds neither
        a removed offset nor an older one.

        If the connector's own topic is in another Kafka cluster, everything goes to this cluster's first, which also
        shows whether this host still leads. A concurrent reader may then find an older offset: records are repeated.
        """
        if not offsets:
            return
        own = self._topic_of(connector)
        cluster = self._topics[self._topic]
        if isinstance(own, RemoteOffsetTopic):
            self._producer.write(cluster.records(self._topic, connector, offsets))
            own.write(own.rows.records(own.topic.name, connector, offsets))
            return
        gone = [(partition, offset) for partition, offset in offsets if offset is None]
        known = [(partition, offset) for partition, offset in offsets if offset is not None]
        records = cluster.records(self._topic, connector, gone)
        if own is not None:
            records += self._topics[own].records(own, connector, offsets)
        self._producer.write(records + cluster.records(self._topic, connector, known))

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """List the partitions, after reading everything written by now."""
        return [row.partition for row in self._rows(connector).values()]

    def close(self) -> None:
        """Close the clients of other Kafka clusters."""
        with self._lock:
            far, self._far = self._far, []
        for each in far:
            each.close()

    def _rows(self, connector: str) -> dict[str, OffsetRow]:
        own = self._topic_of(connector)
        rows = self._topics[self._topic]
        if isinstance(own, RemoteOffsetTopic):
            own.read_to_end(READ_SECONDS)
            first = own.rows
        else:
            first = rows if own is None else self._topics[own]
        self._reader.read_to_end([self._topic, *([own] if isinstance(own, str) else [])], READ_SECONDS)
        return rows.rows(connector) | first.rows(connector)

    def _topic_of(self, connector: str) -> RemoteOffsetTopic | str | None:
        """Return the connector's own topic, read on first use; None if it has none.

        A deleted connector keeps its topic, because its tasks still commit their last records.
        """
        with suppress(LookupError):
            self._own_topics[connector] = self._own_topic(connector)
        own = self._own_topics.get(connector)
        if own is None:
            return None
        if own.clients is not None:
            return self._far_topic(own)
        if own.name == self._topic:
            return None
        if own.name not in self._topics:
            self._open(own.name)
        return own.name

    def _far_topic(self, topic: OwnTopic) -> RemoteOffsetTopic:
        """Return the reader of a remote topic; close readers that no connector names any more."""
        assert self._open_far is not None, "a remote topic needs open_far"
        with self._lock:
            named = list(self._own_topics.values())
            unnamed = [each for each in self._far if each.topic not in named]
            self._far = [each for each in self._far if each.topic in named]
            found = next((each for each in self._far if each.topic == topic), None)
            if found is None:
                found = self._open_far(topic)
                self._far.append(found)
        for each in unnamed:
            each.close()
        return found

    def _open(self, topic: str) -> None:
        """Start reading a topic; if it is unavailable, only connectors that name it are affected."""
        with self._lock:
            opening = self._opening.setdefault(topic, threading.Lock())
        with opening:
            if topic in self._topics:
                return
            partitions = self._prepare(topic)
            self._topics[topic] = OffsetRows()
            self._reader.follow({topic: self.take}, {topic: partitions}, READ_SECONDS)
