"""The files of any records are those that Confluent's TopicPartitionWriter makes, record by record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hearth_api as api
from hearth_api import SchemaBuilder, SinkRecord, Struct
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.sink.rotation import Rotation
from tests.unit.plugins.storage.world import TOPIC, committed, local_run, names, record

V1 = SchemaBuilder.struct().name("O").version(1).field("id", api.INT64_SCHEMA).field("c", api.STRING_SCHEMA).build()
V2 = (
    SchemaBuilder.struct()
    .name("O")
    .version(2)
    .field("id", api.INT64_SCHEMA)
    .field("c", api.STRING_SCHEMA)
    .field("x", api.OPTIONAL_STRING_SCHEMA)
    .build()
)


@dataclass
class JavaWriter:
    """The rules of Confluent's TopicPartitionWriter for one Kafka partition, a record at a time."""

    flush_size: int
    interval: int
    on_change: bool
    compatibility: str
    files: dict[str, list[int]] = field(default_factory=dict)
    end: int = 0

    def __post_init__(self) -> None:
        self.last_path, self.last = "", -1
        self._commit(None)

    def _commit(self, offset: int | None) -> None:
        self.open: dict[str, list[int]] = {}
        self.schemas: dict[str, Any] = {}
        self.count = 0
        self.base: int | None = None
        if offset is not None:
            self.end = offset + 1

    def write(self, found: SinkRecord) -> None:
        """Write a record, whose directory is its time's ten seconds."""
        time = found.timestamp
        assert time is not None
        path = f"{time // 10_000 * 10 % 60:02d}"
        while True:
            self.base = time if self.base is None else self.base
            current = self.schemas.setdefault(path, found.value_schema)
            late = time - self.base >= self.interval or (self.on_change and path != self.last_path)
            changed = current is not found.value_schema and (
                self.compatibility == "NONE" or _version(found.value_schema) > _version(current)
            )
            if not (self.count and ((self.interval > 0 and late) or changed)):
                break
            self._commit(self.last)
        if path not in self.open:
            name = f"topics/{TOPIC}/{path}/{TOPIC}+0+{found.kafka_offset:010d}.json"
            self.open[path] = self.files[name] = []
        self.open[path].append(found.kafka_offset)
        self.count += 1
        self.last_path, self.last = path, found.kafka_offset
        if self.count >= self.flush_size:
            self._commit(self.last)


def _version(schema: Any) -> int:
    version: int = schema.version
    return version


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 30_000), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 20),
    st.sampled_from([-1, 1, 9_000, 25_000]),
    st.booleans(),
    st.sampled_from(["NONE", "BACKWARD"]),
    st.integers(1, 30),
)
def test_files_are_those_of_java(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, bool]],
    flush_size: int,
    interval: int,
    on_change: bool,
    compatibility: str,
    together: int,
) -> None:
    """Whatever limits, gaps of offsets, times, schemas and puts there are."""
    folder = tmp_path_factory.mktemp("files")
    java = JavaWriter(flush_size, interval, on_change, compatibility)
    records, offset = [], -1
    for gap, time, is_new in rows:
        offset += gap
        schema = V2 if is_new else V1
        value = {"id": offset, "c": "de"}
        records.append(record(offset, schema, Struct.of(schema, value), time=time))
    for each in records:
        java.write(each)
    complete = {name: found for name, found in java.files.items() if all(each < java.end for each in found)}
    more: dict[str, Any] = {
        "flush_size": str(flush_size), "rotate_interval_ms": str(interval), "timezone": "UTC", "locale": "en",
        "partitioner_class": "TimeBasedPartitioner", "partition_duration_ms": "10000", "path_format": "ss",
        "timestamp_extractor": "Record", "rotate_file_on_partition_change": str(on_change).lower(),
        "schema_compatibility": compatibility,
    }  # fmt: skip
    with local_run(folder, **more) as run:
        for start in range(0, len(records), together):
            run.put(records[start : start + together])
        if java.end:
            assert committed(run, java.end)
        else:
            assert not run.pre_commit()
    place = LocalPlace(folder)
    found = {name: [orjson.loads(line)["id"] for line in place.read(name).splitlines()] for name in names(place)}
    assert found == complete


def test_the_clock_ends_files_at_periods_from_midnight() -> None:
    """The last period of a day may be shorter, as in Confluent's DateTimeUtils."""
    from hearth_storage.sink.joda_format import zone_of

    hour = 3_600_000
    rotation = Rotation(1, schedule=5 * hour, zone=zone_of("UTC"))
    assert [rotation.next_by_clock(each * hour) // hour for each in (0, 4, 5, 19, 20, 23, 24)] == [
        5,
        5,
        10,
        20,
        24,
        24,
        29,
    ]
    rotation = Rotation(1, schedule=24 * hour, zone=zone_of("+02:00"))
    assert rotation.next_by_clock(23 * hour) // hour == 46


def test_bytes_end_files(tmp_path: Path) -> None:
    """As decoded: 8 of the number and those of the text."""
    with local_run(tmp_path, flush_size="100", flush_bytes="30") as run:
        run.put([record(at, V1, Struct.of(V1, {"id": at, "c": "abc"})) for at in range(7)])
        assert committed(run, 6)
    assert [name[-15:-5] for name in names(LocalPlace(tmp_path))] == ["0000000000", "0000000003"]
