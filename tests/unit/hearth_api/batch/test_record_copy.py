"""Copies of records do not change with the originals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from hearth_api import INT64_SCHEMA, STRING_SCHEMA, Headers, SchemaBuilder, SourceRecord, Struct
from hearth_api.batch import LASTING, copies_of
from tests.unit.hearth_api.batch.test_batch_record import parts, source_records

ROW = SchemaBuilder.struct().field("id", INT64_SCHEMA).field("name", STRING_SCHEMA).build()
ROWS = SchemaBuilder.struct().field("row", ROW).field("text", STRING_SCHEMA).build()


class Callback:
    """Replaces the copier of nested values: records its calls."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, value: Any) -> Any:
        """Return the value itself."""
        self.asked.append(value)
        return value


def record(value: Any = None, **others: Any) -> SourceRecord:
    """Return a record without schemas."""
    return SourceRecord({"p": 1}, {"o": 1}, "t", value=value, **others)


def row() -> Struct:
    """Return a struct of a number and a text of three letters."""
    return Struct(ROW).put("id", 1).put("name", "abc")


@given(source_records())
def test_copies_are_equal_in_all_parts(records: list[SourceRecord]) -> None:
    """None is the original object; only headers with nested values prevent copying."""
    copies, _ = copies_of(records, lambda value: value)
    if copies is None:
        assert any(type(header.value) not in LASTING for each in records for header in each.headers)
        return
    assert list(map(parts, copies)) == list(map(parts, records))
    assert not set(map(id, copies)) & set(map(id, records))


def test_copies_do_not_change_with_the_originals() -> None:
    """Maps, structs and headers that a task reuses for its next record."""
    partition, offset, headers, value = {"p": 1}, {"o": 1}, Headers().add_string("h", "1"), row()
    copies, size = copies_of([SourceRecord(partition, offset, "t", value=value, headers=headers)], Callback())
    partition["p"], offset["o"] = 2, 2
    headers.clear()
    value.put("id", 2)
    assert copies is not None
    (copy,) = copies
    assert (copy.source_partition, copy.source_offset, copy.value) == ({"p": 1}, {"o": 1}, row())
    assert [header.value for header in copy.headers] == ["1"]
    assert size == len("abc")


@pytest.mark.parametrize(
    "new", [list, lambda: {"a": 1}, lambda: bytearray(b"x"), lambda: Struct(ROWS).put("row", row()).put("text", "xy")]
)
@pytest.mark.parametrize("part", ["key", "value"])
def test_nested_values_are_passed_to_the_callback(new: Callable[[], Any], part: str) -> None:
    """It counts their bytes as well."""
    callback, value = Callback(), new()
    _, size = copies_of([record(**{part: value})], callback)
    assert (callback.asked, size) == ([value], 0)


def test_nested_positions_are_passed_to_the_callback() -> None:
    """Flat ones are copied here, and consecutive records of a source partition share its copy."""
    callback, deep = Callback(), {"o": [1]}
    copies, _ = copies_of([SourceRecord({"p": 1}, deep, "t"), SourceRecord({"p": 1}, None, "t")], callback)
    assert callback.asked == [deep, None]
    assert copies is not None
    assert copies[0].source_partition is copies[1].source_partition


def test_source_partitions_equal_only_in_python_are_distinguished() -> None:
    """1 is neither true nor 1.0."""
    values: list[Any] = [1, True, 1.0, 1, 1]
    copies, _ = copies_of([SourceRecord({"p": value}, None, "t") for value in values], Callback())
    assert copies is not None
    assert [repr(each.source_partition["p"]) for each in copies if each.source_partition] == list(map(repr, values))


class _Own(SourceRecord):
    """A plugin's subclass of a record."""


@pytest.mark.parametrize("other", [_Own(None, None, "t"), record(headers=Headers().add("h", None, [1]))])
def test_uncopyable_record_returns_none(other: SourceRecord) -> None:
    """A subclass may hold unknown state, and header values are not examined."""
    assert copies_of([record("a"), other], Callback()) == (None, 0)
