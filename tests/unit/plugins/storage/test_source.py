"""Sources give back what sinks wrote, and read any other files, from a directory and from an S3 server."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hearth_api as api
from hearth_api import (
    ConnectError,
    DataError,
    Headers,
    RetriableError,
    SchemaBuilder,
    SourceRecord,
    Struct,
    TopicPartition,
)
from hearth_api.testing import MemorySourceTaskContext, SinkRun, SourceRun
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink.store_sink import (
    AzureBlobStorageSinkConnector,
    AzureDataLakeGen2SinkConnector,
    FilesSinkConnector,
    GcsSinkConnector,
    S3SinkConnector,
)
from hearth_storage.source.source_task import FilesSourceTask
from hearth_storage.source.store_source import (
    AzureBlobStorageSourceConnector,
    AzureDataLakeGen2SourceConnector,
    FilesSourceConnector,
    GcsSourceConnector,
    S3SourceConnector,
)
from tests.object_store import StoreServer, make_bucket
from tests.unit.plugins.storage.test_store import azure_settings, google_settings, lake_settings
from tests.unit.plugins.storage.world import ORDER, TOPIC, committed, local_settings, order, record, s3_settings

FORMATS = ("Avro", "Parquet", "Json")
S3 = "io.confluent.connect.s3.format."
GENERIC = {"mode": "GENERIC", "topics.dir": ""}


def source(folder: Path, **more: str) -> dict[str, str]:
    """Return a configuration of the source of a directory."""
    words = {name.replace("_", "."): value for name, value in more.items()}
    return {"name": "back", "directory": str(folder), "file.poll.interval.ms": "20", **words}


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return {each.name: value.get(each.name) for each in value.schema.fields} if isinstance(value, Struct) else value


def read(folder: Path, count: int, offsets: Any = (), tasks: int = 1, **more: str) -> list[SourceRecord]:
    """Return so many records of a directory, read from offsets."""
    with SourceRun(FilesSourceConnector, source(folder, **more), offsets, tasks, in_columns=True) as run:
        return run.take(count)


def offsets_of(records: list[SourceRecord]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the offsets that a host stores of records."""
    return [(each.source_partition, each.source_offset) for each in records]  # type: ignore[misc]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("in_columns", [True, False])
def test_what_the_sink_wrote_comes_back(tmp_path: Path, name: str, in_columns: bool) -> None:
    """Topics, partitions, order, keys, headers and schemas are equal; JSON has no schema."""
    kind = f"{S3}{name.lower()}.{name}Format"
    both = {"store.kafka.keys": "true", "store.kafka.headers": "true", "keys.format.class": kind}
    both["headers.format.class"] = kind
    key = SchemaBuilder.struct().name("com.acme.Key").field("id", api.INT32_SCHEMA).build()
    records = [
        record(
            offset, ORDER, Struct.of(ORDER, {"id": offset, "country": None if offset % 2 else "de"}),
            partition=partition, key_schema=key, key=Struct.of(key, {"id": offset}),
            headers=Headers().add_string("trace", f"{partition}-{offset}"),
        )
        for offset in range(9) for partition in range(3)
    ]  # fmt: skip
    places = [TopicPartition(TOPIC, number) for number in range(3)]
    settings = {**local_settings(tmp_path), "format.class": kind, **both}
    with SinkRun(FilesSinkConnector, settings, places, in_columns=True) as sink:
        sink.put(records)
        assert all(committed(sink, 9, number) for number in range(3))
    with SourceRun(FilesSourceConnector, {**source(tmp_path), **both}, max_tasks=2, in_columns=in_columns) as run:
        found = run.take(len(records))
    for partition in range(3):
        own = [each for each in found if each.kafka_partition == partition]
        assert [plain(each.value) for each in own] == [
            plain(r.value) for r in records if r.kafka_partition == partition
        ]
        assert [plain(each.key) for each in own] == [plain(r.key) for r in records if r.kafka_partition == partition]
        assert [[(h.key, h.value) for h in each.headers] for each in own] == [
            [("trace", f"{partition}-{offset}")] for offset in range(9)
        ]
    assert {each.topic for each in found} == {TOPIC}
    if name != "Json":
        assert {each.key_schema for each in found} == {key}
        assert fields(found[0].value_schema) == fields(ORDER)


def fields(schema: api.Schema | None) -> Any:
    """Return the fields of a schema: Avro gives a struct without a name the name ConnectDefault."""
    assert schema is not None
    return [(each.name, each.schema) for each in schema.fields]


def test_tombstones_come_back(tmp_path: Path) -> None:
    """Files of keys in the directory of tombstones are records without values."""
    settings = local_settings(tmp_path, store_kafka_keys="true", behavior_on_null_values="write")
    rows = [record(n, None, None, key_schema=api.STRING_SCHEMA, key=f"k{n}") for n in range(3)]
    with SinkRun(FilesSinkConnector, settings, [TopicPartition(TOPIC, 0)], in_columns=True) as sink:
        sink.put(rows)
        assert committed(sink, 3)
    found = read(tmp_path, 3, store_kafka_keys="true")
    assert [(each.key, each.value_schema, each.value) for each in found] == [(f"k{n}", None, None) for n in range(3)]


def test_a_bucket_comes_back(s3: StoreServer) -> None:
    """The same by S3, read from the second record on by the offset of the first."""
    make_bucket(s3, "back")
    with SinkRun(S3SinkConnector, s3_settings(s3.url, "back"), [TopicPartition(TOPIC, 0)], in_columns=True) as sink:
        sink.put([order(n) for n in range(9)])
        assert committed(sink, 9)
    settings = {**s3_settings(s3.url, "back"), "s3.poll.interval.ms": "20"}
    for name in ("flush.size", "storage.class"):
        del settings[name]
    with SourceRun(S3SourceConnector, settings, in_columns=True) as run:
        found = run.take(9)
        assert [each.value["id"] for each in found] == [*range(9)]
    with SourceRun(S3SourceConnector, settings, offsets=offsets_of(found[:5]), in_columns=True) as run:
        assert [each.value["id"] for each in run.take(4)] == [5, 6, 7, 8]
    assert found[0].source_partition["place"] == "s3://back"  # type: ignore[index]


def test_googles_storage_comes_back(google: StoreServer, tmp_path: Path) -> None:
    """The configuration of the sink becomes that of the source, from gzipped lines of JSON."""
    settings = {**google_settings(google, tmp_path), "topics.dir": "google-back"}
    check_back(GcsSinkConnector, GcsSourceConnector, settings, "gcs.poll.interval.ms")


def test_azures_storage_comes_back(azure: StoreServer) -> None:
    """The configuration of the sink becomes that of the source, from Avro."""
    settings = {**azure_settings(azure), "topics.dir": "azure-back"}
    check_back(AzureBlobStorageSinkConnector, AzureBlobStorageSourceConnector, settings, "azblob.poll.interval.ms")


def test_a_data_lake_comes_back(azure: StoreServer) -> None:
    """The configuration of the sink becomes that of the source, from Parquet."""
    settings = {**lake_settings(azure), "topics.dir": "lake-back"}
    interval = "azure.datalake.gen2.poll.interval.ms"
    check_back(AzureDataLakeGen2SinkConnector, AzureDataLakeGen2SourceConnector, settings, interval)


def check_back(sink: Any, kind: Any, settings: dict[str, str], interval: str) -> None:
    """Check that records that a sink wrote come back from the source with its settings."""
    with SinkRun(sink, settings, [TopicPartition(TOPIC, 0)], in_columns=True) as run:
        run.put([order(n) for n in range(6)])
        assert committed(run, 6)
    config = {**settings, interval: "20"}
    faults = {each.name: each.error_messages for each in kind().validate(config).values if each.error_messages}
    assert faults == {}
    with SourceRun(kind, config, in_columns=True) as back:
        assert [each.value["id"] for each in back.take(6)] == [*range(6)]


def test_a_bucket_that_is_absent_is_told_under_its_key(s3: StoreServer) -> None:
    """Validation asks the store, so a user learns it before the connector runs."""
    settings = {**s3_settings(s3.url, "absent"), "s3.poll.interval.ms": "20"}
    config = S3SourceConnector().validate(settings)
    (message,) = config["s3.bucket.name"].error_messages
    assert "absent" in message
    assert "create the bucket" in message


def test_any_files_are_read_by_their_extensions(tmp_path: Path) -> None:
    """Parquet, Avro, JSON lines, CSV, text, gzip and zstd in one directory, each by its name."""
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": [0, 1]}), tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "b.json").write_text('{"id":2}\n\n{"id":3}\n')
    (tmp_path / "in" / "c.csv.gz").write_bytes(gzip.compress(b"id,n\n4,x\n"))
    (tmp_path / "in" / "d.txt").write_text("5\n6")
    with pa.CompressedOutputStream(str(tmp_path / "in" / "e.jsonl.zst"), "zstd") as out:
        out.write(b'{"id":7}\n')
    (tmp_path / "in" / "f.unknown").write_text("?")
    (tmp_path / "in" / ".g.json").write_text('{"id":9}\n')
    found = read(tmp_path, 8, **GENERIC_WORDS)
    values = [plain(each.value) for each in found]
    assert values == [{"id": 0}, {"id": 1}, {"id": 2}, {"id": 3}, {"id": "4", "n": "x"}, "5", "6", {"id": 7}]
    assert {each.topic for each in found} == {"all"}
    assert found[0].kafka_partition is None


GENERIC_WORDS: dict[str, Any] = {"mode": "GENERIC", "topics_dir": "", "topic_regex_list": "all:.*"}


def test_topics_follow_from_names(tmp_path: Path) -> None:
    """A file goes to the first topic whose expression matches its whole name; others, and other folders, do not."""
    for name in ("x/orders-1.txt", "x/users-1.txt", "x/rest.txt", "y/orders-2.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    words: dict[str, Any] = {
        "mode": "GENERIC",
        "topics_dir": "",
        "folders": "x",
        "topic_regex_list": "o:.*orders.*,u:.*users.*",
    }
    assert [(each.topic, each.value) for each in read(tmp_path, 2, **words)] == [
        ("o", "x/orders-1.txt"), ("u", "x/users-1.txt"),
    ]  # fmt: skip


def test_offsets_count_rows_and_mark_the_end(tmp_path: Path) -> None:
    """A task goes on behind the stored row of each file, and does not open a file that was read to its end."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1\n2\n3\n")
    found = read(tmp_path, 6, **GENERIC_WORDS, record_batch_max_size="2")
    assert [(each.source_offset["row"], each.source_offset.get("end", False)) for each in found[:3]] == [  # type: ignore[index, union-attr]
        (1, False), (2, False), (3, True),
    ]  # fmt: skip
    (tmp_path / "c.txt").write_text("new\n")
    again = read(tmp_path, 3, offsets_of([found[2], found[3]]), **GENERIC_WORDS)
    assert [each.value for each in again] == ["2", "3", "new"]


@pytest.mark.parametrize(
    ("behavior", "expected"), [("ignore", ["later"]), ("append", ["3", "later"]), ("reread", ["1", "2", "3", "later"])]
)
def test_a_file_that_grows_is_read_as_the_key_says(tmp_path: Path, behavior: str, expected: list[str]) -> None:
    """Nothing by default, its new rows, or all of it; a running task and one that starts again agree."""
    (tmp_path / "a.txt").write_text("1\n2\n")
    words: dict[str, Any] = {**GENERIC_WORDS, "behavior_on_change": behavior}
    with SourceRun(FilesSourceConnector, source(tmp_path, **words), in_columns=True) as run:
        before = run.take(2)
        time.sleep(0.05)
        (tmp_path / "a.txt").write_text("1\n2\n3\n")
        (tmp_path / "b.txt").write_text("later\n")
        found = [each.value for each in run.take(len(expected))]
        assert sorted(found) == sorted(expected)  # a listing may have passed the first file before it grew
    again = read(tmp_path, len(expected), offsets_of(before), **words)
    assert [each.value for each in again] == expected


def test_a_file_that_is_deleted_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file may go between the listing and its turn."""
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("x\n" * 3)
    task = FilesSourceTask()
    task.initialize(MemorySourceTaskContext())
    task.start(source(tmp_path, **GENERIC_WORDS))
    try:
        assert wait(lambda: len(task._listing._waiting) == 2)
        (tmp_path / "a.txt").unlink()
        records = task.poll()
        assert records is not None
        assert {each.source_partition["file"] for each in records} == {"b.txt"}  # type: ignore[index]
        assert "a.txt was deleted" in caplog.text
        assert wait(lambda: task.poll() is None and task.is_exhausted())
    finally:
        task.stop()


@pytest.mark.parametrize("behavior", ["fail", "log", "ignore"])
def test_a_file_that_does_not_parse_does_as_the_key_says(
    tmp_path: Path, behavior: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It fails the task with its name, or the next file follows."""
    (tmp_path / "a.json").write_text("{oops\n")
    (tmp_path / "b.json").write_text('{"id":1}\n')
    words: dict[str, Any] = {**GENERIC_WORDS, "behavior_on_error": behavior}
    if behavior == "fail":
        with pytest.raises(DataError, match=r"a\.json: a line is no JSON"):
            read(tmp_path, 1, **words)
        return
    assert [each.value for each in read(tmp_path, 1, **words)] == [{"id": 1}]
    assert ("a.json is left after row 0" in caplog.text) == (behavior == "log")


def test_the_files_of_one_partition_are_read_by_their_offsets(tmp_path: Path) -> None:
    """Names without padding sort otherwise than numbers; keys beside are waited for."""
    folder = tmp_path / "topics" / TOPIC / "partition=0"
    folder.mkdir(parents=True)
    for start in (9, 10, 100):
        (folder / f"{TOPIC}+0+{start}.json").write_text(f"{start}\n")
    found = read(tmp_path, 3)
    assert [each.value for each in found] == [9, 10, 100]
    settings = source(tmp_path, store_kafka_keys="true", keys_format_class=f"{S3}json.JsonFormat")
    with SourceRun(FilesSourceConnector, settings, in_columns=True) as run:
        assert run.poll() == []
        (folder / f"{TOPIC}+0+10.keys.json").write_text('"k"\n')
        assert [(each.key, each.value) for each in run.take(1)] == [("k", 10)]


def test_tasks_share_partitions_and_directories(tmp_path: Path) -> None:
    """Each file is read by one task, whatever their number."""
    for number in range(20):
        (tmp_path / f"d{number}").mkdir()
        (tmp_path / f"d{number}" / "a.txt").write_text(f"{number}\n")
    found = read(tmp_path, 20, tasks=3, **GENERIC_WORDS)
    assert sorted(int(each.value) for each in found) == [*range(20)]


def test_many_files_are_read_while_they_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first records come before the second page of names."""
    for number in range(1_005):
        (tmp_path / f"{number:05}.txt").write_text(f"{number}\n")
    gate, listed = threading.Event(), LocalPlace.list

    def slow(self: LocalPlace, prefix: str = "", after: str = "") -> Iterator[Any]:
        pages = listed(self, prefix, after)
        yield next(pages)
        gate.wait(30)
        yield from pages

    monkeypatch.setattr(LocalPlace, "list", slow)
    with SourceRun(FilesSourceConnector, source(tmp_path, **GENERIC_WORDS), in_columns=True) as run:
        assert [int(each.value) for each in run.take(900)] == [*range(900)]
        gate.set()
        assert [int(each.value) for each in run.take(105)] == [*range(900, 1_005)]


def test_an_error_that_passes_is_retried_at_the_same_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that answers 503 within a file: the poll raises RetriableError, and the next goes on."""
    import hearth_storage.source.storage_source_task as module

    (tmp_path / "a.txt").write_text("x\n" * 10)
    monkeypatch.setattr(module, "SMALL", 0)
    failures = iter([RetriableError("503"), None, RetriableError("503")])
    opened = LocalPlace.reader

    def reader(self: LocalPlace, name: str) -> Any:
        if (error := next(failures, None)) is not None:
            raise error
        return opened(self, name)

    monkeypatch.setattr(LocalPlace, "reader", reader)
    with SourceRun(FilesSourceConnector, source(tmp_path, **GENERIC_WORDS, record_batch_max_size="4")) as run:
        assert [each.source_offset["row"] for each in run.take(10)] == [*range(1, 11)]  # type: ignore[index]


def test_bad_input_is_told_by_key(tmp_path: Path) -> None:
    """Missing topics, broken expressions and unknown formats are refused with what to do."""
    for more, key, words in (
        ({"mode": "GENERIC"}, "topic.regex.list", "is required for mode=GENERIC"),
        ({"mode": "GENERIC", "topic_regex_list": "x"}, "topic.regex.list", "TOPIC:REGEX"),
        ({"mode": "GENERIC", "topic_regex_list": "x:("}, "topic.regex.list", "no regular expression"),
        ({"format_class": "io.confluent.connect.s3.format.json.JsnFormat"}, "format.class", "JsonFormat"),
        ({"directory": "/nowhere"}, "directory", "/nowhere is no directory"),
        ({"mode": "BACKUP"}, "mode", "GENERIC"),
    ):
        config = FilesSourceConnector().validate(source(tmp_path, **more) if "directory" not in more
                                                 else {**source(tmp_path), **more})  # fmt: skip
        assert any(words in each for each in config[key].error_messages), (more, config[key].error_messages)


def test_offsets_that_somebody_sets_are_checked() -> None:
    """A row is a whole number; a partition names place and file."""
    connector, partition = FilesSourceConnector(), {"place": "file:///x", "file": "a"}
    assert connector.alter_offsets({}, [(partition, {"row": 3}), (partition, None)])
    for wrong in ((partition, {"row": -1}), ({"file": "a"}, None), (partition, {"row": 1, "end": "yes"})):
        with pytest.raises(ConnectError):
            connector.alter_offsets({}, [wrong])


def wait(is_done: Any, seconds: float = 30) -> bool:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not is_done():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True
