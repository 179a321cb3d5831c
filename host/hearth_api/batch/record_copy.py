"""Copies source records, which their task may change after returning them."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Sequence
from typing import Any

from hearth_api.header import Headers
from hearth_api.record import SourceRecord
from hearth_api.struct import Struct

LASTING = frozenset((type(None), bool, int, float, str, bytes, decimal.Decimal, dt.date, dt.time, dt.datetime))
"""Types of immutable values."""


def copies_of(records: Sequence[SourceRecord], copy: Callable[[Any], Any]) -> tuple[list[SourceRecord] | None, int]:
    """Return copies of records and the number of bytes in their texts and bytes; None if one cannot be copied.

    Subclasses of SourceRecord and records with mutable header values cannot be copied. Nested containers and unknown
    types are copied by `copy`, which counts their bytes itself.
    """
    copies: list[SourceRecord] = []
    size = 0
    partition: Any = None
    for record in records:
        headers = record._headers
        if type(record) is not SourceRecord or not (headers is None or _are_lasting(headers)):
            return None, 0
        if not _is_like(record.source_partition, partition):  # usually the same as the previous record's
            partition = _map(record.source_partition, copy)
        key, value = record.key, record.value
        made = SourceRecord.__new__(SourceRecord)
        made.topic = record.topic
        made.kafka_partition = record.kafka_partition
        made.key_schema = record.key_schema
        made.key = _value(key, copy)
        made.value_schema = record.value_schema
        made.value = _value(value, copy)
        made.timestamp = record.timestamp
        made._headers = None if headers is None else headers.duplicate()
        made.source_partition = partition
        made.source_offset = _map(record.source_offset, copy)
        copies.append(made)
        size += _size(key) + _size(value)
    return copies, size


def _are_lasting(headers: Headers) -> bool:
    parts = headers._flat()
    return LASTING.issuperset(map(type, parts[2::3]))


def _is_like(one: Any, other: Any) -> bool:
    """Return whether two maps are equal, with true and 1 as different values, unlike Python."""
    if type(one) is not dict or type(other) is not dict or one != other:
        return False
    known: dict[str, Any] = other
    for name, member in one.items():  # noqa: SIM110 - a generator would be made for each record
        if type(member) is not type(known[name]):
            return False
    return True


def _map(value: Any, copy: Callable[[Any], Any]) -> Any:
    """Return the copy of a source partition or offset."""
    if type(value) is not dict:
        return copy(value)
    known: dict[str, Any] = value
    for member in known.values():
        if type(member) not in LASTING:
            return copy(value)
    return known.copy()


def _value(value: Any, copy: Callable[[Any], Any]) -> Any:
    """Return the copy of a key or value."""
    kind = type(value)
    if kind in LASTING:
        return value
    if kind is not Struct:
        return copy(value)
    struct: Struct = value
    for member in struct._values:
        if type(member) not in LASTING:
            return copy(value)
    return Struct.unchecked(struct.schema, struct._values)


def _size(value: Any) -> int:
    """Return the number of bytes of a key or value that is copied here."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value)
    if kind is not Struct:
        return 0
    struct: Struct = value
    size = 0
    for member in struct._values:
        kind = type(member)
        if kind is str or kind is bytes:
            size += len(member)
        elif kind not in LASTING:
            return 0
    return size
