"""Which directory a record is in, in columns."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hearth_api as api
from hearth_api import DataError, SchemaBuilder, SinkRecord, Struct, Timestamp
from hearth_api.batch import Batch, records_to_batches
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink.partitioner import DefaultPartitioner, FieldPartitioner, Partitioner
from hearth_storage.sink.store_sink import FilesSinkConnector
from hearth_storage.sink.time_partitioner import (
    DailyPartitioner,
    HourlyPartitioner,
    RecordFieldTimestampExtractor,
    RecordTimestampExtractor,
    TimeBasedPartitioner,
    WallclockTimestampExtractor,
)
from tests.unit.plugins.storage.world import ORDER, committed, local_run, local_settings, names, order, record

with lzma.open(Path(__file__).with_name("path_format.jsonl.xz"), "rt") as _file:
    LINES = [json.loads(line) for line in _file]
INNER = SchemaBuilder.struct().optional().field("city", api.OPTIONAL_STRING_SCHEMA).field("vip", api.BOOLEAN_SCHEMA)
CUSTOMER = (
    SchemaBuilder.struct()
    .field("home", INNER.build())
    .field("year", api.OPTIONAL_INT16_SCHEMA)
    .field("price", api.FLOAT64_SCHEMA)
    .field("born", api.Date.SCHEMA)
    .build()
)


class RangePartitioner(Partitioner):
    """One's own: a directory for each range of numbers, whose length is a key of its own."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._length = int(settings["range.length"])

    def encode(self, batch: Batch, partition: int, now: int) -> Any:
        """Return the range of the field `id`."""
        numbers = batch.column("value").field("id").to_numpy() // self._length * self._length
        return pa.array([f"from={number}" for number in numbers])

    def path(self, topic: str, encoded: str) -> str:
        """Put the range above the topic."""
        return f"{encoded}{self.delimiter}{topic}"


@pytest.mark.parametrize("columns", [True, False])
def test_a_partitioner_of_ones_own_names_directories(tmp_path: Path, columns: bool) -> None:
    """With keys of its own; their files end together."""
    more: dict[str, Any] = {"flush_size": "5", "range_length": "2"}
    own = f"tests.unit.plugins.storage.test_partitioner.{RangePartitioner.__name__}"
    config = local_settings(tmp_path, partitioner_class=own, **more)
    assert not [each for each in FilesSinkConnector().validate(config).values if each.error_messages]
    with local_run(tmp_path, columns, partitioner_class=own, **more) as run:
        run.put([order(at) for at in range(6)])
        assert committed(run, 5)
    place = LocalPlace(tmp_path)
    assert {name: place.read(name).count(b"\n") for name in names(place)} == {
        f"topics/from={first}/orders/orders+0+000000000{first}.json": rows for first, rows in ((0, 2), (2, 2), (4, 1))
    }


def settings(**more: Any) -> dict[str, Any]:
    """Return parsed keys of a sink."""
    return {"directory.delim": "/", "timezone": "UTC", "timestamp.extractor": RecordTimestampExtractor, **more}


def encoded(partitioner: Partitioner, records: list[SinkRecord], partition: int = 0, now: int = 0) -> list[str]:
    """Return the directories of records of one schema."""
    (batch,) = records_to_batches(records)
    found = partitioner.encode(batch, partition, now)
    if not pa.types.is_dictionary(found.type):
        found = found.dictionary_encode()
    return [str(each) for each in found.to_pylist()]


def customer(home: dict[str, Any] | None, year: int | None = 2026) -> SinkRecord:
    """Return a record with structs within."""
    value = {"home": home, "year": year, "price": 1.5, "born": api.Date.to_logical(api.Date.SCHEMA, 0)}
    return record(0, CUSTOMER, Struct.of(CUSTOMER, value))


def test_the_default_is_the_kafka_partition() -> None:
    """Whatever the values are."""
    assert encoded(DefaultPartitioner(settings()), [order(0), order(1)], 7) == ["partition=7"] * 2


def test_fields_are_directories() -> None:
    """Numbers, booleans and texts as Java writes them, a null as the word, also below a struct that is null."""
    made = FieldPartitioner(settings(**{"partition.field.name": ["home.city", "home.vip", "year"]}))
    rows = [customer({"city": "Köln", "vip": True}), customer({"city": None, "vip": False}, -5), customer(None, None)]
    assert encoded(made, rows) == [
        "home.city=Köln/home.vip=true/year=2026",
        "home.city=null/home.vip=false/year=-5",
        "home.city=null/home.vip=null/year=null",
    ]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("city", "not present in the schema"),
        ("home.street", "not present"),
        ("price", "Error encoding"),
        ("born", "Error"),
    ],
)
def test_a_field_that_is_missing_or_of_another_type_is_an_error(field: str, message: str) -> None:
    """As in Java."""
    with pytest.raises(DataError, match=message):
        encoded(FieldPartitioner(settings(**{"partition.field.name": [field]})), [customer(None)])


def test_values_without_fields_have_no_directory_by_field() -> None:
    """As in Java."""
    with pytest.raises(DataError, match="Error encoding partition"):
        encoded(FieldPartitioner(settings(**{"partition.field.name": ["id"]})), [record(0, None, {"id": 1})])


@pytest.mark.parametrize("zone", sorted({line["zone"] for line in LINES[:-1]}))
def test_columns_have_the_directories_of_joda_time(zone: str) -> None:
    """For all times in one batch, which share periods or not."""
    times = LINES[-1]["times"]
    for line in LINES[:-1]:
        if line["zone"] == zone and line["pattern"][0] in "'y":
            keys = {"timezone": zone, "path.format": line["pattern"], "partition.duration.ms": line["duration"]}
            made = TimeBasedPartitioner(settings(**keys))
            assert encoded(made, [order(at, time=time) for at, time in enumerate(times)]) == line["texts"], line


def test_days_and_hours() -> None:
    """Their patterns are Confluent's; a delimiter at the end of path.format is taken away."""
    time = 1_764_333_333_999
    assert encoded(DailyPartitioner(settings()), [order(0, time=time)]) == ["year=2025/month=11/day=28"]
    assert encoded(HourlyPartitioner(settings()), [order(0, time=time)]) == ["year=2025/month=11/day=28/hour=12"]
    made = TimeBasedPartitioner(settings(**{"path.format": "yyyy/MM/", "partition.duration.ms": 1000}))
    assert encoded(made, [order(0, time=time)]) == ["2025/11"]


def test_a_record_without_time_is_an_error() -> None:
    """As in Java."""
    with pytest.raises(DataError, match="Unable to determine timestamp"):
        encoded(DailyPartitioner(settings()), [order(0)])


def test_the_clock_is_that_of_the_put() -> None:
    """So all records of a put are in one directory."""
    made = DailyPartitioner(settings(**{"timestamp.extractor": WallclockTimestampExtractor}))
    assert encoded(made, [order(0, time=0)], now=1_764_333_333_999) == ["year=2025/month=11/day=28"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (api.INT64_SCHEMA, 1_764_333_333_999),
        (Timestamp.SCHEMA, Timestamp.to_logical(Timestamp.SCHEMA, 1_764_333_333_999)),
        (api.STRING_SCHEMA, "1764333333999"),
        (api.STRING_SCHEMA, "2025-11-28T12:35:33.999Z"),
        (api.STRING_SCHEMA, "2025-11-28T13:35:33.999+01:00"),
        (api.STRING_SCHEMA, "2025-11-28"),
    ],
)
def test_a_field_has_the_time(schema: api.Schema, value: Any) -> None:
    """Numbers and timestamps as they are, texts as Joda-Time reads them."""
    outer = SchemaBuilder.struct().field("at", schema).build()
    made = DailyPartitioner(
        settings(**{"timestamp.extractor": RecordFieldTimestampExtractor, "timestamp.field": "at"})
    )
    assert encoded(made, [record(0, outer, Struct.of(outer, {"at": value}))]) == ["year=2025/month=11/day=28"]


def test_a_map_has_the_time() -> None:
    """Of values without schema."""
    keys = {"timestamp.extractor": RecordFieldTimestampExtractor, "timestamp.field": "a.at"}
    made = DailyPartitioner(settings(**keys))
    rows = [record(0, None, {"a": {"at": 1_764_333_333_999}}), record(1, None, {"a": {"at": "2025-11-28T00:00:00Z"}})]
    assert encoded(made, rows) == ["year=2025/month=11/day=28"] * 2
    with pytest.raises(DataError, match=r"Error extracting timestamp from record field: a\.at"):
        encoded(made, [record(0, None, {"a": 1})])


def test_a_field_that_is_null_has_no_time() -> None:
    """As in Java."""
    keys = {"timestamp.extractor": RecordFieldTimestampExtractor, "timestamp.field": "country"}
    with pytest.raises(DataError, match="'country' does not exist"):
        encoded(DailyPartitioner(settings(**keys)), [order(0, None)])
    assert ORDER.field("country") is not None
