"""Records of many kinds are packed together and unpacked unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    INT32_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    DataError,
    Headers,
    Schema,
    SchemaBuilder,
    SourceRecord,
    Struct,
)
from hearth_api.batch import Batch, PackedRecords, batch_to_source_records, packed_by_kind, records_by_kind
from hearth_api.batch import packed_records as module
from tests.unit.hearth_api.batch.test_batch_record import MILLIS, OFFSETS, parts
from tests.unit.hearth_api.strategy import schemas, values

pytestmark = pytest.mark.skipif(module.PACK is module.pack_nothing, reason="not compiled")

PARTITIONS = st.sampled_from([None, {"p": 0}, {"p": 1}, {"p": "ü", "q": None}])


@st.composite
def polls(draw: st.DrawFn) -> list[SourceRecord]:
    """Return records of several kinds, each with a schema or null."""
    options = st.none() | schemas(2)
    kinds = draw(st.lists(st.tuples(options, options, st.sampled_from("tu"), PARTITIONS), min_size=1, max_size=4))
    records = []
    for key_schema, value_schema, topic, partition in draw(st.lists(st.sampled_from(kinds), max_size=8)):
        key, value = (draw(_fitting(schema)) for schema in (key_schema, value_schema))
        wanted = draw(st.none() | st.integers(0, 9))
        records.append(
            SourceRecord(
                partition, draw(OFFSETS), topic, wanted, key_schema, key, value_schema, value, draw(MILLIS)
            )
        )  # fmt: skip
    return records


def _fitting(schema: Schema | None) -> st.SearchStrategy[Any]:
    return st.none() if schema is None else st.none() | values(schema)


def sent(packed: Sequence[Batch]) -> Sequence[Batch]:
    """Return packed records after a round trip through serialization."""
    assert isinstance(packed, PackedRecords)
    kinds, records = (Batch.from_arrow(batch.to_arrow()) for batch in packed.to_batches())
    return PackedRecords.of_batches(kinds, records)


def described(batches: Sequence[Batch]) -> Any:
    """Return everything that batches hold."""
    return [
        (
            batch.topic, batch.key_schema, batch.value_schema, batch.source_partition,
            None if batch.rows is None else batch.rows.tolist(), list(map(parts, batch_to_source_records(batch))),
        )
        for batch in batches
    ]  # fmt: skip


@given(polls())
def test_packed_records_are_the_batches_of_their_kinds(records: list[SourceRecord]) -> None:
    """Including nested values, nulls and logical types, and after serialization."""
    batches, packed = records_by_kind(records), packed_by_kind(records)
    assert isinstance(packed, PackedRecords) == (len(batches) > 1)
    assert described(packed) == described(batches)
    if len(batches) > 1:
        assert described(sent(packed)) == described(batches)


@given(polls(), st.lists(st.integers(0, 8), max_size=3))
def test_joined_polls_are_one(records: list[SourceRecord], cuts: list[int]) -> None:
    """Whatever kinds each of them has, in any order."""
    ends = [*sorted(min(cut, len(records)) for cut in cuts), len(records)]
    polled = [packed_by_kind(records[start:end]) for start, end in zip([0, *ends], ends)]
    packed = [each for each in polled if isinstance(each, PackedRecords)]
    if packed and len(packed) == len(polled):
        joined = PackedRecords.join(packed)
        assert described(joined) == described(records_by_kind(records))
        assert described(sent(joined)) == described(joined)


@given(polls())
def test_source_partitions_have_their_offsets(records: list[SourceRecord]) -> None:
    """Each has its own, in the order of the poll, and each record belongs to one."""
    packed = packed_by_kind(records)
    if isinstance(packed, PackedRecords):
        found = [(partition, *row) for partition, texts, rows in packed.by_source() for row in zip(texts, rows)]
        for partition, _, row in found:
            assert partition == records[row].source_partition
        offsets = packed.column("source_offset")
        for _, text, row in found:
            assert offsets is None or text == offsets[row]
        for _, _, rows in packed.by_source():
            assert rows.tolist() == sorted(rows.tolist())
        assert sorted(row for _, _, row in found) == list(range(len(records)))


STRUCT = SchemaBuilder.struct().field("a", STRING_SCHEMA).field("n", INT32_SCHEMA).build()
LIST = SchemaBuilder.array(INT32_SCHEMA).build()


def of(schema: Schema | None, value: Any, topic: str = "t", **rest: Any) -> SourceRecord:
    """Return a record."""
    return SourceRecord({"p": 0}, {"n": 1}, topic, value_schema=schema, value=value, **rest)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (None, {"a": 1}),
        (STRUCT, {"a": "x"}),
        (STRUCT, Struct(LIST_OF := SchemaBuilder.struct().field("b", STRING_SCHEMA).build())),
        (INT32_SCHEMA, 1 << 31),
        (INT32_SCHEMA, "1"),
        (STRING_SCHEMA, b"x"),
        (STRING_SCHEMA, "\ud800"),
        (LIST, [1, "2"]),
        (LIST, {1: 2}),
        (SchemaBuilder.map(OPTIONAL_STRING_SCHEMA, INT32_SCHEMA).build(), {None: 1}),
    ],
)
def test_unpackable_records_are_handled_as_batches(schema: Schema | None, value: Any) -> None:
    """A schemaless value becomes a batch, and one that does not fit its schema raises."""
    records = [of(STRING_SCHEMA, "x"), of(schema, value, "u")]
    try:
        expected: Any = described(records_by_kind(records))
    except DataError as error:
        expected = str(error)
    try:
        found: Any = packed_by_kind(records)
        assert not isinstance(found, PackedRecords)
        found = described(found)
    except DataError as error:
        found = str(error)
    assert found == expected


class Own(SourceRecord):
    """A plugin's subclass of a record."""


def test_few_kinds_headers_and_subclasses_are_not_packed() -> None:
    """Columns are as cheap for many records of a kind, and headers need columns."""
    kinds = [of(STRING_SCHEMA, "x", topic) for topic in "tu"]
    assert isinstance(packed_by_kind(kinds), PackedRecords)
    assert isinstance(packed_by_kind(kinds * module.MOST_ROWS), PackedRecords)
    for records in (
        [*kinds * module.MOST_ROWS, kinds[0]],
        [*kinds, of(STRING_SCHEMA, "x", headers=Headers().add_string("h", "x"))],
        [*kinds, Own({"p": 0}, {"n": 1}, "t", value_schema=STRING_SCHEMA, value="x")],
        [*kinds, of(STRING_SCHEMA, "x", None)],  # type: ignore[arg-type]
        [],
    ):
        packed = packed_by_kind(records)
        assert not isinstance(packed, PackedRecords)
        assert described(packed) == described(records_by_kind(records))


@given(schemas(2).flatmap(lambda schema: st.tuples(st.just(schema), values(schema))), st.data())
def test_corrupt_row_is_never_read_past_its_end(pair: tuple[Schema, Any], data: st.DataObject) -> None:
    """Other processes may write anything: it is a value or an error."""
    schema, value = pair
    packed = packed_by_kind([of(schema, value), of(STRING_SCHEMA, "x", "u")])
    if value is None or not isinstance(packed, PackedRecords):
        return
    row, layout = packed.column("value")[0].as_py(), module._layout(schema)
    assert layout is not None
    place = data.draw(st.integers(0, len(row)))
    for changed in (row[:place], row + b"\0", row[:place] + data.draw(st.binary(max_size=4)) + row[place + 1 :]):
        try:
            layout.unpack(changed)
        except (ValueError, DataError, TypeError):
            continue


def test_inconsistent_packed_records_are_refused() -> None:
    """Unknown kinds, columns of other types or names, and rows of other schemas."""
    kinds, records = packed_by_kind([of(STRING_SCHEMA, "x", topic) for topic in "tu"]).to_batches()  # type: ignore[attr-defined]
    for name, column in (
        ("kind", pa.array([0, 2], pa.int32())),
        ("kind", pa.array([-1, 0], pa.int32())),
        ("kind", pa.array([0, None], pa.int32())),
        ("kind", pa.array([0, 1], pa.int64())),
        ("value", pa.array(["x", "y"])),
        ("value", None),
        ("headers", pa.array(["x", "y"])),
    ):
        with pytest.raises(ValueError, match="packed records"):
            PackedRecords.of_batches(kinds, records.with_columns(**{name: column}))
    with pytest.raises(ValueError, match="not a packed row"):
        _ = PackedRecords.of_batches(kinds, records.with_columns(value=pa.array([b"x", b"y"]))).batches
