"""Files of the sink in HDFS, on a real name node and data node: written, found again, and read by the source."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import hearth_api as api
from hearth_api import SchemaBuilder, SinkRecord, Struct, TopicPartition
from hearth_api.testing import SinkRun, SourceRun
from hearth_storage.place.hdfs_place import HdfsPlace
from hearth_storage.sink.store_sink import FilesSinkConnector
from hearth_storage.source.store_source import FilesSourceConnector
from tests.hdfs_cluster import HdfsCluster
from tests.timeouts import eventually

pytestmark = pytest.mark.slow
PLACE = TopicPartition("orders", 0)
ORDER = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).field("name", api.OPTIONAL_STRING_SCHEMA).build()
_numbers = itertools.count()


@pytest.fixture
def url(hdfs: HdfsCluster) -> str:
    """Provide the address of a cluster."""
    return hdfs.url


@pytest.fixture
def directory(url: str) -> str:
    """Provide a directory that is not there."""
    return f"{url}/lake{next(_numbers)}"


def orders(start: int, end: int) -> list[SinkRecord]:
    """Return records with the offsets of a range."""
    values = [Struct.of(ORDER, {"id": n, "name": f"n{n}"}) for n in range(start, end)]
    return [SinkRecord("orders", 0, None, None, ORDER, value, value["id"]) for value in values]


def written(directory: str, records: list[SinkRecord], kind: str) -> None:
    """Put records, and wait until the files with all offsets but those of the last, open one are committed."""
    config = {"name": "files", "topics": "orders", "directory": directory, "format.class": kind, "flush.size": "3"}
    with SinkRun(FilesSinkConnector, config, {PLACE}, in_columns=True, seconds=60) as run:
        run.put(records)
        last = records[-1].kafka_offset // 3 * 3
        assert eventually(lambda: committed(run) >= last, 60)


def committed(run: SinkRun) -> int:
    """Return the offset that may be committed."""
    found = run.pre_commit().get(PLACE)
    return -1 if found is None else found.offset


def names(directory: str) -> list[str]:
    """Return the names of the files."""
    return [entry.name for page in HdfsPlace(directory).list() for entry in page]


@pytest.mark.parametrize(("kind", "extension"), [("ParquetFormat", ".snappy.parquet"), ("JsonFormat", ".json")])
def test_files_are_written_once_and_read_back(directory: str, kind: str, extension: str) -> None:
    """A task that begins again at the same offset makes the same files."""
    for records in (orders(0, 7), orders(0, 7), orders(6, 13)):
        written(directory, records, kind)
    found = [f"topics/orders/partition=0/orders+0+{start:010}{extension}" for start in (0, 3, 6, 9)]
    assert names(directory) == found
    config = {"name": "back", "directory": directory, "format.class": kind, "file.poll.interval.ms": "50"}
    with SourceRun(FilesSourceConnector, config, in_columns=True, seconds=60) as run:
        assert [identity(record.value) for record in run.take(12)] == list(range(12))


def identity(value: Any) -> int:
    """Return the number of an order."""
    return int(value["id"])
