"""The sink: names, keys and headers beside, tombstones, schemas, several partitions, and what it refuses."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import orjson
import pytest

import hearth_api as api
from hearth_api import ConnectError, SchemaBuilder, Struct, TopicPartition
from hearth_api.testing import SinkRun
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink.store_sink import S3SinkConnector
from tests.object_store import StoreServer, make_bucket
from tests.unit.plugins.storage.test_place import s3_store
from tests.unit.plugins.storage.world import (
    JSON,
    ORDER,
    TOPIC,
    committed,
    local_run,
    names,
    order,
    record,
    s3_settings,
)

V1 = SchemaBuilder.struct().name("O").version(1).field("id", api.INT32_SCHEMA).build()
_V2 = SchemaBuilder.struct().name("O").version(2).field("id", api.INT64_SCHEMA)
V2 = _V2.field("note", api.OPTIONAL_STRING_SCHEMA).build()
_numbers = itertools.count()


def lines(folder: Path) -> dict[str, list[Any]]:
    """Return the JSON of all files."""
    place = LocalPlace(folder)
    return {name: [orjson.loads(line) for line in place.read(name).splitlines()] for name in names(place)}


@pytest.fixture
def bucket(s3: StoreServer) -> str:
    """Provide a bucket of the test's own."""
    name = f"bucket{next(_numbers)}"
    make_bucket(s3, name)
    return name


@pytest.mark.parametrize("columns", [True, False])
def test_s3_has_the_names_of_java(s3: StoreServer, bucket: str, columns: bool) -> None:
    """A file for each flush.size records of a Kafka partition; what is left waits."""
    import obstore

    places = [TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 12)]
    config = s3_settings(s3.url, bucket, s3_object_tagging="true")
    with SinkRun(S3SinkConnector, config, places, in_columns=columns) as run:
        run.put([order(at) for at in range(7)] + [order(at, partition=12) for at in range(100, 104)])
        assert committed(run, 6)
        assert committed(run, 103, 12)
    store = s3_store(s3, bucket)
    found = {each["path"]: each["size"] for page in obstore.list(store) for each in page}
    assert list(found) == [
        "topics/orders/partition=0/orders+0+0000000000.json",
        "topics/orders/partition=0/orders+0+0000000003.json",
        "topics/orders/partition=12/orders+12+0000000100.json",
    ]
    assert bytes(obstore.get(store, list(found)[2]).bytes()) == (
        b'{"id":100,"country":"de"}\n{"id":101,"country":"de"}\n{"id":102,"country":"de"}\n'
    )


def test_names_follow_their_keys(tmp_path: Path) -> None:
    """Delimiters, the directory of topics, the width of offsets."""
    more: dict[str, Any] = {
        "topics_dir": "",
        "file_delim": "-",
        "filename_offset_zero_pad_width": "0",
        "flush_size": "1",
    }
    with local_run(tmp_path, **more) as run:
        run.put([order(5)])
        assert committed(run, 6)
    assert names(LocalPlace(tmp_path)) == ["orders/partition=0/orders-0-5.json"]


def test_keys_and_headers_are_beside(tmp_path: Path) -> None:
    """In files of as many rows."""
    more: dict[str, Any] = {"store_kafka_keys": "true", "store_kafka_headers": "true", "keys_format_class": JSON}
    headers = api.Headers().add("a", api.INT32_SCHEMA, 1).add("b", api.STRING_SCHEMA, "x")
    rows = [
        record(at, ORDER, Struct.of(ORDER, {"id": at, "country": None}), key=f"k{at}", key_schema=api.STRING_SCHEMA,
               headers=headers)
        for at in range(3)
    ]  # fmt: skip
    with local_run(tmp_path, **more, headers_format_class=JSON) as run:
        run.put(rows)
        assert committed(run, 3)
    stem = "topics/orders/partition=0/orders+0+0000000000"
    found = lines(tmp_path)
    assert list(found) == [f"{stem}.headers.json", f"{stem}.json", f"{stem}.keys.json"]
    assert found[f"{stem}.keys.json"] == ["k0", "k1", "k2"]
    assert found[f"{stem}.headers.json"] == [[{"key": "a", "value": "1"}, {"key": "b", "value": "x"}]] * 3


@pytest.mark.parametrize("columns", [True, False])
def test_a_record_without_key_is_reported(tmp_path: Path, columns: bool) -> None:
    """If keys are stored; its neighbours are written."""
    more: dict[str, Any] = {"store_kafka_keys": "true", "keys_format_class": JSON, "flush_size": "2"}
    rows = [order(0), *(record(at, None, {"id": at}, key=f"k{at}", key_schema=api.STRING_SCHEMA) for at in (1, 2))]
    with local_run(tmp_path, columns, **more) as run:
        run.put(rows)
        assert committed(run, 3)
        assert [each.kafka_offset for each, _ in run.reporter.reported] == [0]
    assert [row["id"] for row in lines(tmp_path)["topics/orders/partition=0/orders+0+0000000001.json"]] == [1, 2]


def test_tombstones_fail_by_default(tmp_path: Path) -> None:
    """With the key that decides."""
    with local_run(tmp_path) as run, pytest.raises(ConnectError, match="Null valued records are not writeable"):
        run.put([record(0, None, None)])


@pytest.mark.parametrize("columns", [True, False])
def test_tombstones_are_ignored_and_reported(tmp_path: Path, columns: bool) -> None:
    """And offsets go on behind them."""
    with local_run(tmp_path, columns, behavior_on_null_values="ignore") as run:
        run.put([record(0, None, None), record(1, None, None)])
        assert committed(run, 2)
        assert [each.kafka_offset for each, _ in run.reporter.reported] == [0, 1]
    assert lines(tmp_path) == {}


def test_tombstones_are_written_beside(tmp_path: Path) -> None:
    """Their keys alone, in a directory of their own; they do not end the files of values."""
    more: dict[str, Any] = {"behavior_on_null_values": "write", "store_kafka_keys": "true", "keys_format_class": JSON}
    key: dict[str, Any] = {"key_schema": api.STRING_SCHEMA}
    rows = [
        record(at, None if at % 2 else ORDER, None if at % 2 else Struct.of(ORDER, {"id": at}), key=f"k{at}", **key)
        for at in range(4)
    ]
    with local_run(tmp_path, flush_size="4", **more) as run:
        run.put(rows)
        assert committed(run, 4)
    found = lines(tmp_path)
    assert list(found) == [
        "topics/orders/partition=0/orders+0+0000000000.json",
        "topics/orders/partition=0/orders+0+0000000000.keys.json",
        "topics/orders/tombstone/orders+0+0000000001.keys.json",
    ]
    assert [row["id"] for row in found[next(iter(found))]] == [0, 2]
    assert found["topics/orders/tombstone/orders+0+0000000001.keys.json"] == ["k1", "k3"]


def test_records_are_projected_to_the_schema_of_the_file(tmp_path: Path) -> None:
    """With BACKWARD, an older record has the fields of the newer schema; with NONE it has a file of its own."""
    rows = [
        record(0, V2, Struct.of(V2, {"id": 0, "note": "n"})),
        record(1, V1, Struct.of(V1, {"id": 1})),
        record(2, V2, Struct.of(V2, {"id": 2, "note": None})),
    ]
    (tmp_path / "b").mkdir()
    (tmp_path / "n").mkdir()
    with local_run(tmp_path / "b", flush_size="3", schema_compatibility="BACKWARD") as run:
        run.put(rows)
        assert committed(run, 3)
    (found,) = lines(tmp_path / "b").values()
    assert found == [{"id": 0, "note": "n"}, {"id": 1, "note": None}, {"id": 2, "note": None}]
    with local_run(tmp_path / "n", flush_size="3") as run:
        run.put(rows)
        assert committed(run, 2)
    assert [name[-15:] for name in lines(tmp_path / "n")] == ["0000000000.json", "0000000001.json"]


def test_a_schema_without_version_cannot_be_compared(tmp_path: Path) -> None:
    """As in Java."""
    with local_run(tmp_path, schema_compatibility="FULL") as run, pytest.raises(api.DataError, match="Schema version"):
        run.put([order(0), record(1, V1, Struct.of(V1, {"id": 1}))])


def test_fields_are_directories(tmp_path: Path) -> None:
    """All files of a Kafka partition end together, as Java's."""
    more: dict[str, Any] = {
        "partitioner_class": "io.confluent.connect.storage.partitioner.FieldPartitioner",
        "flush_size": "4",
    }
    with local_run(tmp_path, **more, partition_field_name="country") as run:
        run.put([order(0, "de"), order(1, "fr"), order(2, "de"), order(3, None), order(4, "it")])
        assert committed(run, 4)
    assert {name: [row["id"] for row in rows] for name, rows in lines(tmp_path).items()} == {
        "topics/orders/country=de/orders+0+0000000000.json": [0, 2],
        "topics/orders/country=fr/orders+0+0000000001.json": [1],
        "topics/orders/country=null/orders+0+0000000003.json": [3],
    }


def test_most_open_files_end_them(tmp_path: Path) -> None:
    """Before a record that would open one more."""
    more: dict[str, Any] = {
        "partitioner_class": "FieldPartitioner",
        "partition_field_name": "country",
        "flush_size": "100",
    }
    with local_run(tmp_path, **more, partitioner_max_open_files="2") as run:
        run.put([order(0, "de"), order(1, "fr"), order(2, "de"), order(3, "it"), order(4, "it")])
        assert committed(run, 3)
    assert len(lines(tmp_path)) == 2


def test_the_clock_ends_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if no record comes."""
    from hearth_storage.sink import storage_sink_task

    now = [1_000]
    monkeypatch.setattr(storage_sink_task, "_now", lambda: now[0])
    with local_run(tmp_path, flush_size="100", rotate_schedule_interval_ms="60000", timezone="UTC") as run:
        run.put([order(0), order(1)])
        assert not run.pre_commit()
        now[0] = 60_000
        run.put([])
        assert committed(run, 2)


def test_several_partitions_do_not_mix(tmp_path: Path) -> None:
    """One that the task loses leaves nothing; another goes on."""
    with local_run(tmp_path, partitions=(0, 1)) as run:
        run.put([each for at in range(4) for each in (order(at), order(at, partition=1))])
        assert committed(run, 3)
        run.tasks[0].close([TopicPartition(TOPIC, 1)])
        run.put([order(4), order(5)])
        assert committed(run, 6)
    assert sorted(lines(tmp_path)) == [
        "topics/orders/partition=0/orders+0+0000000000.json",
        "topics/orders/partition=0/orders+0+0000000003.json",
        "topics/orders/partition=1/orders+1+0000000000.json",
    ]
