"""Splits many records into lists of parts, for the columns of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hearth_api.header import Headers
from hearth_api.record import ConnectRecord, SourceRecord
from hearth_api.schema import Schema

FEW = 8
"""The number of source partitions that those of a topic's records are compared with, one by one."""


class Parts(NamedTuple):
    """The parts that differ per record, as a list for each part."""

    partitions: list[int | None]
    keys: list[Any]
    values: list[Any]
    timestamps: list[int | None]
    headers: list[Headers | None]


def parts_of(records: Sequence[ConnectRecord]) -> Parts:
    """Return the parts that differ between records of a batch, whatever their kind."""
    return Parts(
        [record.kafka_partition for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [record.timestamp for record in records],
        [record._headers for record in records],
    )


def common_parts(records: Sequence[ConnectRecord]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the parts that records of a batch share: value schemas, key schemas and topics."""
    return (
        [record.value_schema for record in records],
        [record.key_schema for record in records],
        [record.topic for record in records],
    )


def kinds_of(records: Sequence[ConnectRecord]) -> tuple[list[int], list[SourceRecord]] | None:
    """Return the kind of each source record, numbered by first appearance, and the first record of each kind.

    Records of one kind have equal topics, schemas and source partitions. None if a record is of another class.
    """
    known: dict[tuple[str | None, int, int], list[int]] = {}
    """The kinds by topic and schemas, for these objects."""
    equal: dict[tuple[str | None, Schema | None, Schema | None], list[int]] = {}
    further: dict[tuple[int, str], int] = {}
    """The kinds beyond the first few of a topic and schemas, by the first of these and their source partition."""
    codes: list[int] = []
    firsts: list[SourceRecord] = []
    code = 0
    before: SourceRecord | None = None
    for each in records:
        if type(each) is not SourceRecord:
            return None
        record = each
        if (
            before is not None
            and record.topic is before.topic
            and record.value_schema is before.value_schema
            and record.key_schema is before.key_schema
            and _are_alike(record.source_partition, before.source_partition)
        ):
            codes.append(code)
            continue
        before = record
        place = (record.topic, id(record.value_schema), id(record.key_schema))
        own = known.get(place)
        if own is None:
            own = known[place] = equal.setdefault((record.topic, record.value_schema, record.key_schema), [])
        for code in own:
            if _are_alike(record.source_partition, firsts[code].source_partition):
                break
        else:
            code = len(firsts)
            if len(own) < FEW:
                own.append(code)
            else:
                code = further.setdefault((own[0], repr(record.source_partition)), code)
            if code == len(firsts):
                firsts.append(record)
        codes.append(code)
    return codes, firsts


def _are_alike(one: Any, other: Any) -> bool:
    """Return whether two source partitions have equal JSON; ``1`` and ``True`` are equal, but are not."""
    if one is other:
        return True
    if one != other:
        return False
    if type(one) is dict:
        values: dict[str, Any] = one
        for value in values.values():
            if type(value) is not str:
                break
        else:
            return True
    return repr(one) == repr(other)


def source_partitions(records: Sequence[SourceRecord]) -> list[Any]:
    """Return the source partitions of records."""
    return [record.source_partition for record in records]


def source_offsets(records: Sequence[SourceRecord]) -> list[Any]:
    """Return the source offsets of records."""
    return [record.source_offset for record in records]


def counted(offsets: Sequence[Any]) -> tuple[str, list[int]] | None:
    """Return the name and the values of the only member of all offsets; None if offsets differ in that.

    The values must be integers, as in nearly every source.
    """
    first = offsets[0]
    if type(first) is not dict or len(first) != 1:
        return None
    (name,) = first
    if type(name) is not str:
        return None
    numbers = []
    for offset in offsets:
        if type(offset) is not dict or len(offset) != 1:
            return None
        known: dict[str, Any] = offset
        number = known.get(name)
        if type(number) is not int:
            return None
        numbers.append(number)
    return name, numbers
