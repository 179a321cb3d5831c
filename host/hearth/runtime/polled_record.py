"""Failed records of a source, for reports: as polled, or as serialized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hearth_api.batch import Batch, batch_to_source_records
from hearth_api.java import java_text, record_text
from hearth_execution.failure import cut
from hearth_execution.order import row_of

if TYPE_CHECKING:  # readers without Kafka use this module too
    from hearth.kafka.outgoing import Outgoing

KEY_CHARACTERS = 100
"""Longest part of a record's key in a report, enough to find the record."""


@dataclass(frozen=True)
class PolledRecord:
    """A record as its task polled it: a row of the batches that were polled together."""

    origins: Sequence[Batch]
    row: int

    def text(self) -> str:
        """Describe the record as Kafka Connect's error log does."""
        return f"source record is = {record_text(self._record())}"

    def place(self, *, with_key: bool = True) -> str:
        """Name the record's topic, its key and where it was read."""
        record = self._record()
        key = ""
        if with_key and record.key is not None:
            key = f", key {cut(java_text(record.key, record.key_schema), KEY_CHARACTERS)!r}"
        return f"topic {record.topic!r}{key}{_position(record.source_partition, record.source_offset)}"

    def _record(self) -> Any:
        return batch_to_source_records(row_of(self.origins, self.row))[0]


@dataclass(frozen=True)
class RefusedRecord:
    """A record that the broker or the producer refused: one row, and its source position.

    ``polled`` is the record as polled, if the log shows records.
    """

    outgoing: Outgoing
    source_partition: Mapping[str, Any] | None
    source_offset: Mapping[str, Any] | None
    polled: PolledRecord | None = None

    def text(self) -> str:
        """Describe the record as Kafka Connect's error log does."""
        return self.place() if self.polled is None else self.polled.text()

    def place(self, *, with_key: bool = True) -> str:
        """Name the record's topic, its key, its size and where it was read."""
        position = _position(self.source_partition, self.source_offset)
        key = key_text(self.outgoing.key) if with_key else ""
        return f"topic {self.outgoing.topic!r}{key}, {self.outgoing.size} bytes{position}"


def key_text(keys: Any) -> str:
    """Format the key of one record, the first of a column of bytes."""
    key = None if keys is None else keys[0].as_py()
    return "" if key is None else f", key {cut(key.decode(errors='replace'), KEY_CHARACTERS)!r}"


def _position(partition: Mapping[str, Any] | None, offset: Mapping[str, Any] | None) -> str:
    return f", source partition {java_text(partition)}, source offset {java_text(offset)}"
