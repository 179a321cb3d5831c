"""What the records of a topic of source offsets come to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hearth.kafka.topic_reader import StoredRecord
from hearth.storage.fenced_producer import Record
from hearth.storage.memory import partition_key
from hearth.storage.offset_record import offset_key, offset_value, parse_offset

log = logging.getLogger(__name__)

Offsets = Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]


@dataclass
class OffsetRow:
    """What a topic holds of one source partition: its offset, and the keys under which it was written."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None = None
    keys: set[bytes] = field(default_factory=set)


class OffsetRows:
    """What one topic of source offsets holds, as far as it was read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, OffsetRow]] = {}

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
            row = self._rows.setdefault(connector, {}).setdefault(place, OffsetRow(partition))
            row.offset = offset
            row.keys.add(record.key)
            if record.value is None:
                row.keys.discard(record.key)
                if not row.keys:
                    del self._rows[connector][place]

    def rows(self, connector: str) -> dict[str, OffsetRow]:
        """Return what there is of a connector, by the text of its partitions; tombstones are left out."""
        with self._lock:
            return {
                place: OffsetRow(dict(row.partition), dict(row.offset), set(row.keys))
                for place, row in self._rows.get(connector, {}).items()
                if row.offset is not None
            }

    def records(self, topic: str, connector: str, offsets: Offsets) -> list[Record]:
        """Return what is to be written to the topic: a partition that has several keys has its offset under each."""
        rows = self.rows(connector)
        records = []
        for partition, offset in offsets:
            row = rows.get(partition_key(partition))
            keys = sorted(row.keys) if row is not None else [offset_key(connector, partition)]
            records += [Record(topic, key, offset_value(offset)) for key in keys]
        return records
