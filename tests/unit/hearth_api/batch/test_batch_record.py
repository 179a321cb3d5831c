"""Records become batches and back, in order."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import (
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConnectRecord,
    DataError,
    Header,
    Schema,
    SchemaBuilder,
    SinkRecord,
    SourceRecord,
    Struct,
    Timestamp,
    TimestampType,
    Type,
)
from hearth_api.batch import (
    Batch,
    batch_to_sink_records,
    batch_to_source_records,
    records_by_kind,
    records_to_batches,
)
from hearth_api.schema import deep_key
from tests.unit.hearth_api.strategy import SCHEMALESS, TEXT, schemas, values

SCHEMAS = st.none() | schemas(1)
MILLIS = st.none() | st.integers(0, 1 << 50)
OFFSETS = st.none() | st.dictionaries(
    TEXT, st.none() | TEXT | st.booleans() | st.integers(-(1 << 63), 1 << 62), max_size=2
)


def fitting(schema: Schema | None) -> st.SearchStrategy[Any]:
    """Return values of a schema or without one, and null."""
    return st.none() | (SCHEMALESS if schema is None else values(schema))


@st.composite
def headers(draw: st.DrawFn) -> Header:
    """Return headers with and without schema."""
    schema = draw(SCHEMAS)
    return Header(draw(TEXT), schema, draw(fitting(schema)))


@st.composite
def source_records(draw: st.DrawFn) -> list[SourceRecord]:
    """Return records of a few topics, schemas and partitions, often the same."""
    kinds = draw(st.lists(st.tuples(SCHEMAS, SCHEMAS, st.sampled_from("tu"), OFFSETS), min_size=1, max_size=3))
    records = []
    for key_schema, value_schema, topic, partition in draw(st.lists(st.sampled_from(kinds), max_size=5)):
        key, value = draw(fitting(key_schema)), draw(fitting(value_schema))
        kafka_partition, extra = draw(st.none() | st.integers(0, 9)), draw(st.lists(headers(), max_size=2))
        records.append(
            SourceRecord(
                partition, draw(OFFSETS), topic, kafka_partition,
                key_schema, key, value_schema, value, draw(MILLIS), extra,
            )
        )  # fmt: skip
    return records


@st.composite
def sink_records(draw: st.DrawFn) -> list[SinkRecord]:
    """Return records of a few topics and schemas, some of them changed by a transformation."""
    kinds = draw(st.lists(st.tuples(SCHEMAS, SCHEMAS, st.sampled_from("tu")), min_size=1, max_size=3))
    records = []
    for key_schema, value_schema, topic in draw(st.lists(st.sampled_from(kinds), max_size=5)):
        key, value = draw(fitting(key_schema)), draw(fitting(value_schema))
        record = SinkRecord(
            topic, draw(st.integers(0, 9)), key_schema, key, value_schema, value, draw(st.integers(0, 1 << 60)),
            draw(MILLIS), draw(st.sampled_from(TimestampType)), draw(st.lists(headers(), max_size=2)),
        )  # fmt: skip
        records.append(record.new_record(topic="v", partition=3) if draw(st.booleans()) else record)
    return records


def parts(record: SourceRecord | SinkRecord) -> Any:
    """Return all parts of a record, comparable even with NaN."""
    extra = [(header.key, header.schema, deep_key(header.value)) for header in record.headers]
    names = ("source_partition", "source_offset", "kafka_offset", "timestamp_type", "original_topic",
             "original_kafka_partition", "original_kafka_offset")  # fmt: skip
    own = [getattr(record, name, None) for name in names]
    return (
        record.topic, record.kafka_partition, record.key_schema, deep_key(record.key),
        record.value_schema, deep_key(record.value), record.timestamp, extra, own,
    )  # fmt: skip


def sent(batches: list[Batch]) -> list[Batch]:
    """Return batches after a round trip through serialization."""
    return [Batch.from_arrow(batch.to_arrow()) for batch in batches]


@given(source_records())
def test_source_records_come_back(records: list[SourceRecord]) -> None:
    """No record, no part of it and no position is lost."""
    back = [record for batch in sent(records_to_batches(records)) for record in batch_to_source_records(batch)]
    assert list(map(parts, back)) == list(map(parts, records))


@given(sink_records())
def test_sink_records_come_back(records: list[SinkRecord]) -> None:
    """A sink sees the same records, with their original positions."""
    back = [record for batch in sent(records_to_batches(records)) for record in batch_to_sink_records(batch)]
    assert list(map(parts, back)) == list(map(parts, records))


def test_batch_ends_where_something_changes() -> None:
    """A batch has one topic, one pair of schemas and one source partition."""

    def record(topic: str = "t", partition: int = 0, schema: Schema = STRING_SCHEMA, value: Any = "v") -> SourceRecord:
        return SourceRecord({"p": partition}, None, topic, value_schema=schema, value=value)

    records = [record(), record(), record("u"), record("u", 1), record("u", 1, INT64_SCHEMA, 5), record()]
    assert [batch.num_rows for batch in records_to_batches(records)] == [2, 1, 1, 1, 1]
    assert records_to_batches([]) == []


@given(source_records())
def test_records_of_one_kind_are_grouped_with_their_indexes(records: list[SourceRecord]) -> None:
    """However they alternate: no record is lost or in another kind, and each has its index."""
    batches = sent(records_by_kind(records))
    back: dict[int, SourceRecord] = {}
    for batch in batches:
        rows = batch.column("row")
        numbers = range(len(records)) if rows is None else rows.to_pylist()
        assert list(numbers) == sorted(numbers)
        back.update(zip(numbers, batch_to_source_records(batch), strict=True))
    assert [parts(record) for _, record in sorted(back.items())] == list(map(parts, records))
    assert len(batches) <= len(records_to_batches(records))
    firsts = [0 if batch.column("row") is None else batch.column("row")[0].as_py() for batch in batches]
    assert firsts == sorted(firsts)


@given(source_records())
def test_names_only_keeps_everything_but_values(records: list[SourceRecord]) -> None:
    """Values are kept, too, unless they are structs that can neither change nor fail to become a column."""

    def named(batch: Batch) -> list[Any]:
        return [parts(each.new_record(value_schema=None, value=None)) for each in batch_to_source_records(batch)]

    for short, whole in zip(records_by_kind(records, names_only=True), records_by_kind(records), strict=True):
        assert named(short) == named(whole)
        if short.value_schema != whole.value_schema:
            assert whole.value_schema is not None
            assert (short.value_schema, whole.value_schema.type) == (None, Type.STRUCT)


def test_names_only_keeps_mutable_structs() -> None:
    """As well as structs whose values are converted for a column, and values that are not structs of the schema."""
    plain = SchemaBuilder.struct().field("a", STRING_SCHEMA).build()
    listed = SchemaBuilder.struct().field("a", SchemaBuilder.array(STRING_SCHEMA).build()).build()
    dated = SchemaBuilder.struct().field("a", Timestamp.SCHEMA).build()
    outer = SchemaBuilder.struct().field("a", plain).build()
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    struct = Struct(plain).put("a", "x")

    def is_left_out(schema: Schema, value: Any) -> bool:
        record = SourceRecord({}, {}, "t", value_schema=schema, value=value)
        (batch,) = records_by_kind([record, record], names_only=True)
        return batch.value_schema is None

    assert is_left_out(plain, struct)
    assert is_left_out(outer, Struct(outer).put("a", struct))
    assert not is_left_out(listed, Struct(listed).put("a", ["x"]))
    assert not is_left_out(dated, Struct(dated).put("a", moment))
    assert not is_left_out(plain, None)
    assert not is_left_out(STRING_SCHEMA, "x")
    with pytest.raises(DataError):
        is_left_out(outer, struct)


def test_kinds_are_compared_by_value() -> None:
    """A task creates a new source partition map for each record; true is not 1, unlike in Python."""
    names = ["a", "b", 1, "a", True, "b", 1]
    batches = records_by_kind([SourceRecord({"p": name}, None, "".join("t"), value="x") for name in names])
    assert [(batch.source_partition, batch.column("row").to_pylist()) for batch in batches] == [
        ({"p": "a"}, [0, 3]), ({"p": "b"}, [1, 5]), ({"p": 1}, [2, 6]), ({"p": True}, [4]),
    ]  # fmt: skip
    assert records_by_kind([]) == []


def test_kinds_of_the_same_schemas_are_parts_of_the_same_columns() -> None:
    """Many topics in a poll cost little more than one; parts that only one kind has are null in the others."""
    names = ["a", "b", "c", "a", "c", "b"]
    records = [
        SourceRecord({"p": name}, {"o": row}, name, None, None, "k" if name == "b" else None, STRING_SCHEMA, str(row))
        for row, name in enumerate(names)
    ]
    batches = records_by_kind(records)
    assert [(batch.topic, batch.source_partition, batch.column("row").to_pylist()) for batch in batches] == [
        ("a", {"p": "a"}, [0, 3]), ("b", {"p": "b"}, [1, 5]), ("c", {"p": "c"}, [2, 4]),
    ]  # fmt: skip
    assert len({batch.column("value").buffers()[2].address for batch in batches}) == 1
    keys = [record.key for batch in sent(batches) for record in batch_to_source_records(batch)]
    assert keys == [None, None, "k", "k", None, None]
    others = records_by_kind([*records, SourceRecord({"p": "a"}, None, "a", value_schema=INT64_SCHEMA, value=1)])
    assert len({batch.column("value").buffers()[-1].address for batch in others}) == len(others) == 4


def test_records_of_other_kinds_are_batches_of_their_own() -> None:
    """Even if they differ in nothing else."""
    source, sink = SourceRecord(None, None, "t", value="x"), SinkRecord("t", 0, None, None, None, "x", 5)
    plain = ConnectRecord("t", None, None, None, None, "x", None, None)
    batches = records_to_batches([source, source, sink, plain, plain, source])
    assert [(batch.num_rows, batch.column("offset") is not None) for batch in batches] == [
        (2, False), (1, True), (2, False), (1, False)
    ]  # fmt: skip


def test_empty_columns_are_left_out() -> None:
    """Columns of nulls only are omitted."""
    (source,) = records_to_batches([SourceRecord(None, None, "t", value="x")])
    assert source.data.schema.names == ["value"]
    (sink,) = records_to_batches([SinkRecord("t", 0, None, None, None, "x", 5, 6)])
    assert sink.data.schema.names == ["value", "partition", "timestamp", "offset"]


def test_original_place_travels_when_it_differs() -> None:
    """The commit position of a moved record is kept."""
    record = SinkRecord("t", 1, None, None, None, "x", 5).new_record(topic="u", partition=2)
    (batch,) = records_to_batches([record])
    assert batch.original_topic == "t"
    assert batch.column("original_partition").to_pylist() == [1]
    assert batch.column("original_offset") is None


def test_value_that_does_not_fit_fails_the_conversion() -> None:
    """A source that violates its schema gets an error."""
    with pytest.raises(DataError):
        records_to_batches([SourceRecord(None, None, "t", value_schema=Timestamp.SCHEMA, value="x")])


@pytest.mark.parametrize(
    ("offsets", "texts"),
    [
        ([{"n": 5}, {"n": -6}], ['{"n":5}', '{"n":-6}']),
        ([{"n": 5}, {"n": "x"}], ['{"n":5}', '{"n":"x"}']),
        ([{"n": True}, {"n": 1 << 70}], ['{"n":true}', f'{{"n":{1 << 70}}}']),
        ([{"n": 5}, {"m": 6}], ['{"n":5}', '{"m":6}']),
        ([{"n": 5}, {}], ['{"n":5}', "{}"]),
        ([{"n": 5, "m": 6}, {}], ['{"n":5,"m":6}', "{}"]),
        ([None, {"n": 5}], [None, '{"n":5}']),
    ],
)
def test_offsets_are_written_like_single_ones(offsets: list[Any], texts: list[str | None]) -> None:
    """A single integer of the same name is the usual case; any other works as well."""
    (batch,) = records_to_batches([SourceRecord(None, each, "t", value="x") for each in offsets])
    assert batch.column("source_offset").to_pylist() == texts


def test_subclass_of_a_record_is_converted() -> None:
    """Its common attributes are those of its base class."""

    class Own(SourceRecord):
        __slots__ = ()

    records = [Own({"p": 0}, None, "t", value="x"), Own({"p": 1}, None, "t", value="x")]
    assert [batch.source_partition for batch in records_to_batches(records)] == [{"p": 0}, {"p": 1}]
