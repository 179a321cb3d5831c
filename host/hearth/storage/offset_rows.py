"""The offsets that the records of an offsets topic add up to."""

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
    """The offset of one source partition, and the keys under which it was written."""

    partition: dict[str, Any]
    offset: dict[str, Any] | None = None
    keys: set[bytes] = field(default_factory=set)


class OffsetRows:
    """The content of one offsets topic, as far as it has been read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, dict[str, OffsetRow]] = {}

    def take(self, record: StoredRecord) -> None:
        """Apply a record."""
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
        """Return the offsets of a connector by the text of their partitions, without tombstones."""
        with self._lock:
            return {
                place: OffsetRow(dict(row.partition), dict(row.offset), set(row.keys))
                for place, row in self._rows.get(connector, {}).items()
                if row.offset is not None
            }

    def records(self, topic: str, connector: str, offsets: Offsets) -> list[Record]:
        """Return the records to write; a partition with several keys gets its offset under each."""
        rows = self.rows(connector)
        records = []
        for partition, offset in offsets:
            row = rows.get(partition_key(partition))
            keys = sorted(row.keys) if row is not None else [offset_key(connector, partition)]
            records += [Record(topic, key, offset_value(offset)) for key in keys]
        return records
