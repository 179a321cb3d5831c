"""What a poll returned, kept as it was until it is handed over together with what others return.

Columns of few records take longer to make than the records, so those of several polls are made together. A task may
change what it has returned before that, as it may in Kafka Connect: so copies are kept, of what can be copied here.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hearth_api import Headers, SourceRecord, Struct

FEW = 25
"""Of so many records the columns take no longer to make than copies do."""
_SCALARS = frozenset((type(None), bool, int, float, str, bytes, decimal.Decimal, dt.date, dt.time, dt.datetime))
"""Types of values that nobody can change."""
_SIZED = frozenset((str, bytes))


class _UnknownError(Exception):
    """Nobody here knows how a value is copied."""


@dataclass(frozen=True)
class KeptPoll:
    """Copies of the records of a poll, and about how many bytes they hold."""

    records: list[SourceRecord]
    memory: int

    @property
    def num_rows(self) -> int:
        """Return how many records were polled."""
        return len(self.records)

    @classmethod
    def of(cls, records: Sequence[SourceRecord]) -> KeptPoll | None:
        """Return what a poll returned, one record or more; None where nobody here knows how something is copied."""
        if list(map(type, records)).count(SourceRecord) != len(records):
            return None
        copying = _Copying()
        try:
            parts = zip(
                copying.partitions([record.source_partition for record in records]),
                copying.offsets([record.source_offset for record in records]),
                copying.values([record.key for record in records]),
                copying.values([record.value for record in records]),
                copying.headers([record._headers for record in records]),
            )
        except (_UnknownError, RecursionError):
            return None
        copies = [
            SourceRecord(
                partition, offset, record.topic, record.kafka_partition, record.key_schema, key, record.value_schema,
                value, record.timestamp, headers,
            )
            for record, (partition, offset, key, value, headers) in zip(records, parts)
        ]  # fmt: skip
        return cls(copies, copying.memory)


class _Copying:
    """Copies the parts of records, and adds up what they hold; raises ``_UnknownError``."""

    def __init__(self) -> None:
        self.memory = 0

    def partitions(self, partitions: list[Any]) -> list[Any]:
        """Return copies of source partitions, one of those that are equal throughout."""
        if partitions.count(partitions[0]) == len(partitions):
            return [self._copy(partitions[0])] * len(partitions)
        return self.offsets(partitions)

    def offsets(self, offsets: list[Any]) -> list[Any]:
        """Return copies of offsets."""
        if set(map(type, offsets)) == {dict}:
            members = chain.from_iterable(map(dict.values, offsets))
            if _SCALARS.issuperset(map(type, members)):
                return list(map(dict.copy, offsets))
        return [self._copy(each) for each in offsets]

    def values(self, values: list[Any]) -> list[Any]:
        """Return copies of keys or values."""
        kinds = set(map(type, values))
        if kinds == {str} or kinds == {bytes}:
            self.memory += sum(map(len, values))
            return values
        return [self._copy(value) for value in values]

    def headers(self, headers: list[Headers | None]) -> list[Headers | None]:
        """Return copies of headers, which are changed in place."""
        rows = [() if own is None else own._flat() for own in headers]
        if not _SCALARS.issuperset(type(value) for row in rows for value in row[2::3]):
            raise _UnknownError
        return [None if own is None else own.duplicate() for own in headers]

    def _copy(self, value: Any) -> Any:
        kind = type(value)
        if kind in _SIZED:
            self.memory += len(value)
            return value
        if kind in _SCALARS:
            return value
        if kind is dict:
            return {self._copy(name): self._copy(member) for name, member in value.items()}
        if kind is Struct:
            own = value._values
            if _SCALARS.issuperset(map(type, own)):
                self.memory += sum([len(member) for member in own if type(member) in _SIZED])
            else:
                own = [self._copy(member) for member in own]
            return Struct.unchecked(value.schema, own)
        if kind is list or kind is tuple:
            return [self._copy(member) for member in value]
        raise _UnknownError
