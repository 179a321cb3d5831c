"""Source offsets in Kafka topics: the cluster's own, and those that connectors name for themselves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hearth.kafka.topic_reader import StoredRecord, TopicReader
from hearth.storage.fenced_producer import FencedProducer, Record
from hearth.storage.interface import OffsetStore
from hearth.storage.memory import partition_key
from hearth.storage.offset_record import offset_key, offset_value, parse_offset

log = logging.getLogger(__name__)

READ_SECONDS = 90.0
"""How long it may take to see what was written last: a task that was killed leaves its transaction open for a minute,
unless it is fenced before."""

Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]


@dataclass
class _Row:
    """What a topic holds of one source partition: its offset, and the keys under which it was written."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None = None
    keys: set[bytes] = field(default_factory=set)


class _OffsetTopic:
    """What one topic holds, as far as it was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, _Row]] = {}

    def take(self, record: StoredRecord) -> None:
        """Note what a record says."""
        try:
            parsed = parse_offset(record.key, record.value)
        except ValueError as error:
            log.warning("Ignoring record %d of topic %s: %s", record.offset, record.topic, error)
            return
        if parsed is None or record.key is None:
            return
        connector, partition, offset = parsed
        place = partition_key(partition)
        with self._lock:
            row = self._rows.setdefault(connector, {}).setdefault(place, _Row(partition))
            row.offset = offset
            row.keys.add(record.key)
            if record.value is None:
                row.keys.discard(record.key)
                if not row.keys:
                    del self._rows[connector][place]

    def rows(self, connector: str) -> dict[str, _Row]:
        """Return what there is of a connector, by the text of its partitions; tombstones are left out."""
        with self._lock:
            return {
                place: _Row(dict(row.partition), dict(row.offset), set(row.keys))
                for place, row in self._rows.get(connector, {}).items()
                if row.offset is not None
            }


class TopicOffsetStore(OffsetStore):
    """Keeps offsets in the cluster's topic, and in a connector's own where it names one.

    A connector's own topic goes before the cluster's when both know a partition, and what is written to the one is
    written to the other, in one transaction (Invariant 5). A partition keeps the bytes of its key, whoever wrote it
    first: Java looks it up by them, and compaction goes by them.
    """

    def __init__(
        self,
        topic: str,
        reader: TopicReader,
        producer: FencedProducer,
        prepare: Callable[[str], int],
        own_topic: Callable[[str], str | None] = lambda connector: None,
    ) -> None:
        """``prepare`` makes or checks a connector's own topic and returns its partitions.

        ``own_topic`` names it, or raises LookupError for a connector that there is not.
        """
        self._topic = topic
        self._reader = reader
        self._producer = producer
        self._prepare = prepare
        self._own_topic = own_topic
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._topics = {topic: _OffsetTopic()}
        self._own_topics: dict[str, str | None] = {}

    def take(self, record: StoredRecord) -> None:
        """Note a record of one of the topics."""
        self._topics[record.topic].take(record)

    def get(self, connector: str, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Look each partition up, behind everything that was written by now, by tasks with transactions as well."""
        rows = self._rows(connector)
        found = [rows.get(partition_key(partition)) for partition in partitions]
        return [None if row is None else row.offset for row in found]

    def put(self, connector: str, offsets: Offsets) -> None:
        """Write them in one transaction; who reads them reads to the end first, so nobody waits for that here.

        A task of another connector may have a transaction open on the same partition, for as long as it takes.
        What is forgotten is forgotten in the cluster's topic first, and what is known is written to the connector's
        own first, so that nobody who reads in between finds an offset that is gone, or an older one.
        """
        if not offsets:
            return
        *own, cluster = self._topics_of(connector)
        gone = [(partition, offset) for partition, offset in offsets if offset is None]
        known = [(partition, offset) for partition, offset in offsets if offset is not None]
        records = self._records(cluster, connector, gone)
        for topic in own:
            records += self._records(topic, connector, offsets)
        records += self._records(cluster, connector, known)
        self._producer.write(records)

    def partitions(self, connector: str) -> list[dict[str, Any]]:
        """List the partitions, of what was written by now likewise."""
        return [row.partition for row in self._rows(connector).values()]

    def _rows(self, connector: str) -> dict[str, _Row]:
        topics = self._topics_of(connector)
        self._reader.read_to_end(topics, READ_SECONDS)
        rows: dict[str, _Row] = {}
        for topic in reversed(topics):
            rows |= self._topics[topic].rows(connector)
        return rows

    def _records(self, topic: str, connector: str, offsets: Offsets) -> list[Record]:
        """Return what is to be written to a topic: a partition that has several keys has its offset under each."""
        rows = self._topics[topic].rows(connector)
        records = []
        for partition, offset in offsets:
            row = rows.get(partition_key(partition))
            keys = sorted(row.keys) if row is not None else [offset_key(connector, partition)]
            records += [Record(topic, key, offset_value(offset)) for key in keys]
        return records

    def _topics_of(self, connector: str) -> list[str]:
        """Return where the offsets of a connector are, its own topic first, which is read when it is first named.

        A connector that is gone keeps its topic: its tasks still commit what they had in hand.
        """
        with suppress(LookupError):
            self._own_topics[connector] = self._own_topic(connector)
        own = self._own_topics.get(connector)
        if own is None or own == self._topic:
            return [self._topic]
        if own not in self._topics:
            self._open(own)
        return [own, self._topic]

    def _open(self, topic: str) -> None:
        """Begin to follow a topic; one that cannot be had holds up nobody but those who name it."""
        with self._lock:
            opening = self._opening.setdefault(topic, threading.Lock())
        with opening:
            if topic in self._topics:
                return
            partitions = self._prepare(topic)
            self._topics[topic] = _OffsetTopic()
            self._reader.follow({topic: self.take}, {topic: partitions}, READ_SECONDS)
