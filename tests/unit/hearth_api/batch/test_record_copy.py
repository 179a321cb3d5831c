"""Copies of records are what these were, whatever becomes of them."""

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
    """Stands for who copies what has parts: notes what was asked for, and answers with that."""

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
    """And none is the record itself; only headers that have parts are in the way."""
    copies, _ = copies_of(records, lambda value: value)
    if copies is None:
        assert any(type(header.value) not in LASTING for each in records for header in each.headers)
        return
    assert list(map(parts, copies)) == list(map(parts, records))
    assert not set(map(id, copies)) & set(map(id, records))


def test_what_a_task_changes_changes_no_copy() -> None:
    """Maps, structs and headers that it uses again for its next record."""
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
def test_who_knows_more_is_asked_for_what_has_parts(new: Callable[[], Any], part: str) -> None:
    """Its bytes are counted there as well."""
    callback, value = Callback(), new()
    _, size = copies_of([record(**{part: value})], callback)
    assert (callback.asked, size) == ([value], 0)


def test_maps_of_positions_that_have_parts_are_asked_for() -> None:
    """Others are copied here, and one of a source partition serves all records that follow each other in it."""
    callback, deep = Callback(), {"o": [1]}
    copies, _ = copies_of([SourceRecord({"p": 1}, deep, "t"), SourceRecord({"p": 1}, None, "t")], callback)
    assert callback.asked == [deep, None]
    assert copies is not None
    assert copies[0].source_partition is copies[1].source_partition


def test_source_partitions_that_python_holds_for_equal_stay_what_they_are() -> None:
    """One is no truth, and no fraction."""
    values: list[Any] = [1, True, 1.0, 1, 1]
    copies, _ = copies_of([SourceRecord({"p": value}, None, "t") for value in values], Callback())
    assert copies is not None
    assert [repr(each.source_partition["p"]) for each in copies if each.source_partition] == list(map(repr, values))


class _Own(SourceRecord):
    """A record of a plugin's own class."""


@pytest.mark.parametrize("other", [_Own(None, None, "t"), record(headers=Headers().add("h", None, [1]))])
def test_one_that_cannot_be_copied_leaves_all_as_they_are(other: SourceRecord) -> None:
    """What a class of one's own holds is not known, and headers are not looked into."""
    assert copies_of([record("a"), other], Callback()) == (None, 0)
