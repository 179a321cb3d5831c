"""Sinks and sources of files in tests, and a place for each form of a task."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

import hearth_api as api
from hearth_api import Schema, SchemaBuilder, SinkRecord, Struct, TopicPartition
from hearth_api.batch import BatchSinkTask, BatchSourceTask
from hearth_api.testing import SinkRun, SourceRun
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.place.place import Place
from hearth_storage.sink.store_sink import FilesSinkConnector
from hearth_storage.source.store_source import FilesSourceConnector
from tests.timeouts import eventually

TOPIC = "orders"
ORDER = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("country", api.OPTIONAL_STRING_SCHEMA).build()
JSON = "io.confluent.connect.s3.format.json.JsonFormat"
S3_KEYS = {"aws.access.key.id": "key", "aws.secret.access.key": "secret", "s3.region": "us-east-1"}


def s3_settings(url: str, bucket: str = "data", **more: str) -> dict[str, str]:
    """Return a configuration of the S3 sink; a keyword stands for a key with points for underscores."""
    return {
        "name": "copy", "storage.class": "io.confluent.connect.s3.storage.S3Storage", "format.class": JSON,
        "flush.size": "3", "s3.bucket.name": bucket, "store.url": url, **S3_KEYS, **keys(more),
    }  # fmt: skip


def local_settings(folder: Any, **more: str) -> dict[str, str]:
    """Return a configuration of the sink to a directory."""
    return {"name": "copy", "format.class": JSON, "flush.size": "3", "directory": str(folder), **keys(more)}


def keys(words: Mapping[str, str]) -> dict[str, str]:
    """Return keys of keywords."""
    return {name.replace("_", "."): value for name, value in words.items()}


def order(offset: int, country: str | None = "de", *, partition: int = 0, time: int | None = None) -> SinkRecord:
    """Return a record with an order, whose number is its offset."""
    value = Struct.of(ORDER, {"id": offset, "country": country})
    return record(offset, ORDER, value, partition=partition, time=time)


def record(
    offset: int, schema: Schema | None, value: Any, *, partition: int = 0, time: int | None = None, **parts: Any
) -> SinkRecord:
    """Return a record as a sink gets it."""
    key_schema = parts.pop("key_schema", None)
    key = parts.pop("key", None)
    kind = api.TimestampType.NO_TIMESTAMP_TYPE if time is None else api.TimestampType.CREATE_TIME
    return SinkRecord(
        parts.pop("topic", TOPIC), partition, key_schema, key, schema, value, offset, time, kind, **parts
    )


def local_run(folder: Any, columns: bool = True, partitions: Iterable[int] = (0,), **more: str) -> SinkRun:
    """Return a run of the sink to a directory."""
    places = [TopicPartition(TOPIC, number) for number in partitions]
    return SinkRun(FilesSinkConnector, local_settings(folder, **more), places, in_columns=columns)


def names(place: Place, prefix: str = "") -> list[str]:
    """Return the names of the files of a place."""
    return [entry.name for page in place.list(prefix) for entry in page]


def committed(run: SinkRun, offset: int, partition: int = 0) -> bool:
    """Return whether a task comes to commit an offset."""

    def commits() -> bool:
        found = run.pre_commit().get(TopicPartition(TOPIC, partition))
        return found is not None and found.offset == offset

    return eventually(commits, 20)


def in_groups(records: Sequence[SinkRecord], size: int) -> Iterable[Sequence[SinkRecord]]:
    """Yield records in puts of a size."""
    return (records[start : start + size] for start in range(0, len(records), size))


def polled(_kind: type[BatchSourceTask], data: st.DataObject, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return what both forms read from files; the tasks of all stores are one."""
    values = data.draw(st.lists(st.none() | st.integers(0, 9), min_size=1, max_size=12), label="values")
    cut = data.draw(st.integers(1, len(values)), label="cut")
    for number, part in enumerate(each for each in (values[:cut], values[cut:]) if each):
        name = data.draw(st.sampled_from(("jsonl", "txt")), label="extension")
        text = "".join(f'{{"id":{json.dumps(value)}}}\n' for value in part)
        (folder / f"{number}.{name}").write_text(text)
    more = {"mode": "GENERIC", "topics.dir": "", "topic.regex.list": f"{TOPIC}:.*", "file.poll.interval.ms": "20"}
    config = {"name": "back", "directory": str(folder), **more}
    found = []
    for columns in (False, True):
        with SourceRun(FilesSourceConnector, config, in_columns=columns) as run:
            found.append([each.new_record(timestamp=0) for each in run.take(len(values))])
    return found[0], found[1]


def put(_kind: type[BatchSinkTask], data: st.DataObject, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return what both forms wrote; the tasks of all stores are one."""
    countries = data.draw(st.lists(st.sampled_from(("de", "fr", None)), min_size=1, max_size=12), label="countries")
    records = [order(at, country, partition=at % 2) for at, country in enumerate(countries)]
    found = []
    for columns in (False, True):
        target = folder / f"{columns}{data.draw(st.uuids(), label='folder')}"
        target.mkdir()
        more = {"partitioner_class": "FieldPartitioner", "partition_field_name": "country", "flush_size": "1"}
        with local_run(target, columns, (0, 1), **more) as run:
            run.put(records)
            ends = {number: len(records[number::2]) and records[number::2][-1].kafka_offset + 1 for number in (0, 1)}
            assert all(not end or committed(run, end, number) for number, end in ends.items())
        place = LocalPlace(target)
        found.append([(name, place.read(name)) for name in names(place)])
    return found[0], found[1]
