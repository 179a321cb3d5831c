"""Records become rows of Delta tables: appended or merged by key, in tables that are created and extended."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa
import pytest

import hearth_api as api
from hearth_api import (
    ConnectError,
    Date,
    Decimal,
    SchemaBuilder,
    SinkRecord,
    Time,
    Timestamp,
    TopicPartition,
)
from hearth_api.testing import SinkRun
from tests.unit.plugins.delta.lake import KEY, PLACE, TOPIC, WORD, Lake, record, tombstone, word

PERSON = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA).build()
UPSERT = {"insert_mode": "upsert", "pk_mode": "record_key", "delete_enabled": "true"}
MOMENT = dt.datetime(2026, 11, 28, tzinfo=dt.timezone.utc)
LONG_DECIMAL = Decimal.builder(2).parameter("connect.decimal.precision", "40").build()
LONG = SchemaBuilder.struct().field("d", LONG_DECIMAL).build()
TWICE = SchemaBuilder.struct().field("a", api.INT8_SCHEMA).field("A", api.INT8_SCHEMA).build()
BOTH = pytest.mark.parametrize("columns", [True, False])


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Provide a lake without tables."""
    return Lake(tmp_path / "lake")


def faults(run: SinkRun) -> list[str]:
    """Return why records were reported."""
    return [str(error) for _, error in run.reporter.reported]


@BOTH
def test_records_are_appended(lake: Lake, columns: bool) -> None:
    """They are rows once offsets are committed, or the buffer is full."""
    with lake.sink(columns) as run:
        run.put([word(0), word(1)])
        run.pre_commit()
        assert lake.words() == ["w0", "w1"]
    with lake.sink(columns, flush_size="2") as run:
        run.put([word(2)])
        assert lake.words() == ["w0", "w1"]
        run.put([word(3), word(4)])
        assert lake.words() == ["w0", "w1", "w2", "w3", "w4"]
    with lake.sink(columns, flush_bytes="1") as run:
        run.put([word(5)])
        assert lake.words()[-1] == "w5"


def test_a_record_waits_no_longer_than_the_interval(lake: Lake) -> None:
    """A put without records commits what is old enough."""
    with lake.sink(flush_interval_ms="1000") as run:
        run.put([word(0)])
        assert len(lake.words()) == 0
        run.tasks[0]._since -= 2  # type: ignore[attr-defined]
        run.put([])
        assert lake.words() == ["w0"]


def test_types_are_those_of_delta(lake: Lake) -> None:
    """Logical types included; a time of day is a number of milliseconds, and each column is nullable."""
    schema = (
        SchemaBuilder.struct()
        .field("tiny", api.INT8_SCHEMA)
        .field("small", api.INT16_SCHEMA)
        .field("whole", api.INT32_SCHEMA)
        .field("float", api.FLOAT32_SCHEMA)
        .field("bytes", api.BYTES_SCHEMA)
        .field("price", Decimal.builder(2).parameter("connect.decimal.precision", "10").build())
        .field("day", Date.SCHEMA)
        .field("time", Time.SCHEMA)
        .field("moment", Timestamp.SCHEMA)
        .field("list", SchemaBuilder.array(api.STRING_SCHEMA).build())
        .field("map", SchemaBuilder.map(api.STRING_SCHEMA, api.INT32_SCHEMA).build())
        .field("inner", PERSON)
        .build()
    )
    value = {
        "tiny": 1, "small": 2, "whole": 3, "float": 0.5, "bytes": b"x", "price": decimal.Decimal("1.25"),
        "day": dt.date(2026, 11, 28), "time": dt.time(0, 0, 1), "moment": MOMENT,
        "list": ["a"], "map": {"k": 1}, "inner": api.Struct.of(PERSON, {"id": 7, "name": None}),
    }  # fmt: skip
    with lake.sink() as run:
        run.put([record(0, schema, value)])
        run.pre_commit()
    assert str(pa.schema(lake.table().schema().to_arrow()).field("price").type) == "decimal128(10, 2)"
    assert all(field.nullable for field in lake.table().schema().fields)
    assert lake.rows() == [{**value, "time": 1000, "map": [("k", 1)], "inner": {"id": 7, "name": None}}]


def test_a_table_that_is_missing_is_an_error_unless_auto_create(lake: Lake) -> None:
    """The error says what to do."""
    with lake.sink(auto_create="false") as run, pytest.raises(ConnectError, match="there is no table") as caught:
        run.put([word(0)])
    assert caught.value.hint == "set auto.create=true, or create it"


def test_new_fields_are_columns_with_auto_evolve(lake: Lake) -> None:
    """Records of the older schema have null there, also within structs."""
    inner = SchemaBuilder.struct().field("x", api.INT32_SCHEMA)
    old = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("in", inner.build()).build()
    wide = SchemaBuilder.struct().field("x", api.INT32_SCHEMA).field("y", api.OPTIONAL_STRING_SCHEMA).build()
    new = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("in", wide).field("n", api.INT32_SCHEMA).build()
    first = record(0, old, {"id": 1, "in": api.Struct.of(old.field("in").schema, {"x": 1})})  # type: ignore[union-attr]
    second = record(1, new, {"id": 2, "in": api.Struct.of(wide, {"x": 2, "y": "z"}), "n": 3})
    with lake.sink() as run:
        run.put([first])
        with pytest.raises(ConnectError, match="lacks columns of the records: in, n"):
            run.put([second])
    with lake.sink(auto_evolve="true") as run:
        run.put([first])
        run.put([second])
        run.put([SinkRecord(TOPIC, 0, None, None, old, first.value, 2)])
        run.pre_commit()
    late = {"id": 1, "in": {"x": 1, "y": None}, "n": None}
    assert lake.rows() == [late, late, {"id": 2, "in": {"x": 2, "y": "z"}, "n": 3}]


@pytest.mark.parametrize(
    ("kind", "given", "fits"),
    [
        (pa.int64(), api.INT32_SCHEMA, True),
        (pa.int32(), api.INT64_SCHEMA, False),
        (pa.float64(), api.FLOAT32_SCHEMA, True),
        (pa.string(), api.INT32_SCHEMA, False),
        (pa.decimal128(20, 2), api.INT32_SCHEMA, False),
    ],
)
def test_a_field_fits_a_column_of_a_wider_type(lake: Lake, kind: pa.DataType, given: api.Schema, fits: bool) -> None:
    """And no narrower one; no value is cut."""
    from deltalake import DeltaTable, Schema

    DeltaTable.create(f"{lake.address}/{TOPIC}", Schema.from_arrow(pa.schema([("N", kind)])))
    schema = SchemaBuilder.struct().field("n", given).build()
    with lake.sink() as run:
        if fits:
            run.put([record(0, schema, {"n": 1})])
            run.pre_commit()
            assert lake.rows() == [{"N": 1}]
        else:
            run.put([record(0, schema, {"n": 1})])
            assert f"and the column of the table is {kind}" in faults(run)[0]


def test_a_decimal_that_does_not_fit_its_column_is_an_error(lake: Lake) -> None:
    """Which the types do not tell."""
    from deltalake import DeltaTable, Schema

    DeltaTable.create(f"{lake.address}/{TOPIC}", Schema.from_arrow(pa.schema([("d", pa.decimal128(4, 2))])))
    schema = SchemaBuilder.struct().field("d", Decimal.schema(2)).build()
    with lake.sink() as run:
        run.put([record(0, schema, {"d": decimal.Decimal("12.34")})])
        run.put([record(1, schema, {"d": decimal.Decimal("123.45")})])
        assert faults(run)[0].startswith("a value of field d does not fit decimal128(4, 2)")
        run.pre_commit()
    assert lake.rows() == [{"d": decimal.Decimal("12.34")}]


def test_new_tables_have_partitions_and_properties(lake: Lake) -> None:
    """Keys that begin with delta. are properties."""
    with lake.sink(partition_field_name="name", **{"delta.enableChangeDataFeed": "true"}) as run:
        run.put([record(n, PERSON, {"id": n, "name": "ab"[n % 2]}) for n in range(4)])
        run.pre_commit()
    table = lake.table()
    assert table.metadata().partition_columns == ["name"]
    assert table.metadata().configuration["delta.enableChangeDataFeed"] == "true"
    assert len(table.file_uris()) == 2
    assert [row["id"] for row in lake.rows()] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("names", "message"),
    [("word", "needs a column besides those of partition.field.name"), ("nam", "have no field 'nam', but word")],
)
def test_partitions_that_no_table_can_have(lake: Lake, names: str, message: str) -> None:
    """The task fails before it creates the table."""
    with lake.sink(partition_field_name=names) as run, pytest.raises(ConnectError, match=message):
        run.put([word(0)])


def test_each_topic_has_a_table(lake: Lake) -> None:
    """Its name follows from the topic's."""
    places = [PLACE, TopicPartition("orders", 1)]
    with lake.sink(True, places, topics="people,orders", table_name_format="bronze/${topic}_raw") as run:
        run.put([word(0), record(0, PERSON, {"id": 1, "name": None}, topic="orders", partition=1)])
        run.pre_commit()
    assert lake.rows("bronze/people_raw") == [{"word": "w0"}]
    assert lake.rows("bronze/orders_raw") == [{"id": 1, "name": None}]


@BOTH
def test_upsert_keeps_the_last_record_of_each_key(lake: Lake, columns: bool) -> None:
    """Within a flush and across flushes; a record without value deletes."""
    with lake.sink(columns, **UPSERT) as run:
        run.put(
            [record(0, WORD, {"word": "a"}, 1), record(1, WORD, {"word": "b"}, 2), record(2, WORD, {"word": "c"}, 1)]
        )
        run.pre_commit()
        assert lake.rows() == [{"id": 1, "word": "c"}, {"id": 2, "word": "b"}]
        run.put(
            [record(3, WORD, {"word": "d"}, 3), tombstone(4, 2), tombstone(5, 9), record(6, WORD, {"word": "e"}, 4)]
        )
        run.put([tombstone(7, 4), record(8, WORD, {"word": None}, 3)])
        run.pre_commit()
        assert lake.rows() == [{"id": 1, "word": "c"}, {"id": 3, "word": None}]
        run.put([tombstone(9, 1)])
        run.pre_commit()
    assert lake.rows() == [{"id": 3, "word": None}]


def test_upsert_by_fields_of_the_value(lake: Lake) -> None:
    """And by several of them."""
    with lake.sink(insert_mode="upsert", pk_mode="record_value", pk_fields="id") as run:
        run.put([record(n, PERSON, {"id": n % 2, "name": str(n)}) for n in range(5)])
        run.pre_commit()
    assert lake.rows() == [{"id": 0, "name": "4"}, {"id": 1, "name": "3"}]


def test_a_key_that_is_no_struct_is_a_column(lake: Lake) -> None:
    """Its name is pk.fields."""
    with lake.sink(**{**UPSERT, "pk_fields": "name"}) as run:
        run.put([SinkRecord(TOPIC, 0, api.STRING_SCHEMA, "k", WORD, word(0).value, 0)])
        run.put([SinkRecord(TOPIC, 0, api.STRING_SCHEMA, "k", WORD, word(1).value, 1)])
        run.pre_commit()
    assert lake.rows() == [{"name": "k", "word": "w1"}]


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        (record(0, api.STRING_SCHEMA, "x"), {}, "is STRING, not a struct"),
        (record(0, None, {"a": 1}), {}, "have no schema"),
        (record(0, WORD, None), {}, "has no value"),
        (record(0, WORD, {"word": "a"}), UPSERT, "pk.mode=record_key needs records whose key has a schema"),
        (
            record(0, TWICE, {"a": 1, "A": 2}),
            {},
            "two fields are named a",
        ),
        (
            record(0, SchemaBuilder.struct().field("id", api.OPTIONAL_INT64_SCHEMA).build(), {"id": None}),
            {"insert_mode": "upsert", "pk_mode": "record_value"},
            "has null in field 'id' of its primary key",
        ),
        (
            record(0, LONG, {"d": decimal.Decimal("1.00")}),
            {},
            "a decimal of Delta has at most 38 digits",
        ),
    ],
)  # fmt: skip
@BOTH
def test_records_that_cannot_be_rows(
    lake: Lake, given: SinkRecord, more: dict[str, str], message: str, columns: bool
) -> None:
    """Go to the reporter; without one they fail the task."""
    with lake.sink(columns, **more) as run:
        run.put([given])
        assert [fault.partition(message)[1] for fault in faults(run)] == [message]
        assert [each.kafka_offset for each, _ in run.reporter.reported] == [0]
        run.pre_commit()


def test_a_key_has_no_columns_with_insert_unless_asked(lake: Lake) -> None:
    """pk.mode=record_key adds those of the key."""
    with lake.sink(pk_mode="record_key") as run:
        run.put([SinkRecord(TOPIC, 0, KEY, api.Struct.of(KEY, {"id": 5}), WORD, word(0).value, 0)])
        run.pre_commit()
    assert lake.rows() == [{"id": 5, "word": "w0"}]
