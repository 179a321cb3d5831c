"""The Delta bundle in a worker: records become rows of a table, which deltalake and Arrow read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tests.integration.conftest import Host
from tests.integration.installed_bundle import installed
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

FIELDS = [{"field": "id", "type": "int64"}, {"field": "name", "type": "string", "optional": True}]
SCHEMA = {"type": "struct", "fields": FIELDS, "optional": False}


@pytest.fixture(scope="module", autouse=True)
def _bundle(host: Host, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Install the bundle."""
    with installed(host, tmp_path_factory.mktemp("bundles"), "delta", "DeltaSinkConnector"):
        yield


def message(number: int) -> Record:
    """Return a message with the envelope of JsonConverter."""
    payload = {"id": number, "name": f"name {number}"}
    return Record(None, json.dumps({"schema": SCHEMA, "payload": payload}).encode())


def ids(address: Path) -> list[Any]:
    """Return the column `id` of a table, sorted."""
    if not DeltaTable.is_deltatable(str(address)):
        return []
    return sorted(pa.table(DeltaTable(str(address)).scan().read_all()).column("id").to_pylist())


def test_records_are_rows_once(host: Host, topics: Topics, name: str, tmp_path: Path) -> None:
    """Also after a restart, and when the group's offsets are reset."""
    topics.create(name)
    topics.produce(name, [message(number) for number in range(3)])
    config = {
        "name": f"{name}-sink",
        "connector.class": "DeltaSink",
        "topics": name,
        "tables.location": str(tmp_path),
        "auto.create": "true",
        "flush.size": "3",
        "flush.interval.ms": "100",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    }
    host.run(config)
    assert eventually(lambda: len(ids(tmp_path / name)) >= 3, TIMEOUT), host.last_words()
    host.rest.call("POST", f"/connectors/{name}-sink/restart?includeTasks=true")
    topics.produce(name, [message(number) for number in range(3, 6)])
    assert eventually(lambda: len(ids(tmp_path / name)) >= 6, TIMEOUT), host.last_words()
    assert ids(tmp_path / name) == list(range(6))
    version = DeltaTable(str(tmp_path / name)).transaction_version(f"{name}-sink/{name}/0")
    assert version == 5, "the offset of the last record"
