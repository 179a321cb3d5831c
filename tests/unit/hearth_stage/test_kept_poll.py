"""Kept polls: the same records, whatever happens to the returned ones."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from hearth_api import INT64_SCHEMA, STRING_SCHEMA, Headers, SchemaBuilder, SourceRecord, Struct
from hearth_stage.kept_poll import KeptPoll
from tests.unit.hearth_api.batch.test_batch_record import parts, source_records

ROW = SchemaBuilder.struct().field("id", INT64_SCHEMA).field("name", STRING_SCHEMA).build()
ROWS = SchemaBuilder.struct().field("rows", SchemaBuilder.array(ROW).build()).build()


def row(number: int) -> Struct:
    """Return a struct of two fields."""
    return Struct(ROW).put("id", number).put("name", f"n{number}")


def kept(*records: SourceRecord) -> KeptPoll:
    """Return the kept form of a poll."""
    found = KeptPoll.of(records)
    assert found is not None
    return found


def record(value: Any = None, **others: Any) -> SourceRecord:
    """Return a record without schemas."""
    return SourceRecord({"": 1}, {"": 1}, "t", value=value, **others)


@given(source_records().filter(bool))
def test_kept_poll_equals_the_polled_records(records: list[SourceRecord]) -> None:
    """No part of a record is changed or moved; records with nested headers are not kept."""
    found = KeptPoll.of(records)
    if found is None:
        assert any(isinstance(header.value, (list, dict, Struct)) for each in records for header in each.headers)
        return
    assert list(map(parts, found.records)) == list(map(parts, records))
    assert found.num_rows == len(records)


def _change_struct(value: Any) -> None:
    value.put("id", 2)


def _change_nested(value: Any) -> None:
    value.get("rows")[0].put("name", "x")
    value.get("rows").append(row(9))


@pytest.mark.parametrize(
    ("new", "change"),
    [
        (lambda: {"a": [1, {"b": 2}]}, lambda value: value["a"][1].update(b=3)),
        (lambda: [1, [2]], lambda value: value[1].append(3)),
        (lambda: row(1), _change_struct),
        (lambda: Struct(ROWS).put("rows", [row(1)]), _change_nested),
    ],
)
@pytest.mark.parametrize("part", ["key", "value"])
def test_kept_poll_ignores_later_changes_of_the_task(
    new: Callable[[], Any], change: Callable[[Any], None], part: str
) -> None:
    """At any depth of a key or value."""
    value = new()
    (copy,) = kept(record(**{part: value})).records
    change(value)
    assert getattr(copy, part) == new() != value


def test_kept_poll_ignores_changes_of_reused_objects() -> None:
    """One map for all records of a source, updated for each poll, and reused lists and headers."""
    partition, offset, headers = {"p": 1}, {"o": 1}, Headers().add_string("h", "1")
    records = [SourceRecord(partition, offset, "t", headers=headers)]
    found = KeptPoll.of(records)
    assert found is not None
    partition["p"], offset["o"] = 2, 2
    headers.clear().add_string("h", "2")
    records.clear()
    (copy,) = found.records
    assert (copy.source_partition, copy.source_offset) == ({"p": 1}, {"o": 1})
    assert [header.value for header in copy.headers] == ["1"]


def test_equal_source_partitions_become_one() -> None:
    """They are not compared again."""
    first, second = kept(record(), record()).records
    assert first.source_partition is second.source_partition
    other = SourceRecord({"": 2}, {"": 1}, "t")
    assert [each.source_partition for each in kept(record(), other).records] == [{"": 1}, {"": 2}]


def test_offsets_equal_in_python_stay_distinct() -> None:
    """One, true and 1.0 stay distinct."""
    offsets: list[Any] = [{"": 1}, {"": True}, {"": 1.0}]
    found = kept(*(SourceRecord({"": 1}, offset, "t") for offset in offsets)).records
    assert [repr(each.source_offset) for each in found] == list(map(repr, offsets))


class _Own(SourceRecord):
    """A record of a plugin's own class."""


class _Text(str):
    """A text of a plugin's own class."""

    __slots__ = ()


def _endless() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "polled",
    [
        _Own({"p": 1}, None, "t"),
        record(_Text("x")),
        record({1, 2}),
        record({"a": bytearray(b"x")}),
        record(_endless()),
        record(headers=Headers().add("h", None, {"a": 1})),
        SourceRecord({"p": _Text("x")}, None, "t"),
        SourceRecord(None, {"o": object()}, "t"),
    ],
)
def test_records_that_cannot_be_copied_are_not_kept(polled: SourceRecord) -> None:
    """It is unknown how to copy it: it is converted to columns at once."""
    assert KeptPoll.of([record("a"), polled]) is None


def test_kept_poll_reports_its_approximate_size() -> None:
    """Texts and bytes, at any position."""
    assert kept(record("x" * 100), record("y" * 50)).memory == 150
    struct = Struct(ROW).put("id", 1).put("name", "z" * 40)
    values = [b"12345", ["1" * 10, {"a": "2" * 7}], struct, 5, dt.date(2020, 1, 1), decimal.Decimal(1), None]
    assert kept(*map(record, values)).memory == 5 + 10 + 7 + 1 + 40
    assert kept(record(key="k" * 9)).memory == 9
