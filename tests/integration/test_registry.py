"""Pipelines with a registry that is unavailable for a while or lacks a record's schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.conftest import Host
from tests.peer.topic import Record, Topics
from tests.registry_server import RegistryServer, serving
from tests.timeouts import TIMEOUT, eventually

AVRO = "io.confluent.connect.avro.AvroConverter"
HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"
EXTRACT = "org.apache.kafka.connect.transforms.ExtractField$Value"
MASK = "org.apache.kafka.connect.transforms.MaskField"
COUNT = 3000


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryServer]:
    """Serve a registry to all tests of this file."""
    with serving() as server:
        yield server


def avro(registry: RegistryServer, patience_ms: int = 60_000) -> dict[str, str]:
    """Return the converter keys of a connector with Avro values that retries for ``patience_ms``."""
    return {
        "value.converter": AVRO,
        "value.converter.schema.registry.url": registry.url,
        "value.converter.max.retries": "0",
        "errors.retry.timeout": str(patience_ms),
        "errors.retry.delay.max.ms": "300",
    }


def lines(path: Path) -> list[str]:
    """Return the lines of a file, none if it does not exist."""
    return path.read_text().splitlines() if path.exists() else []


def test_avro_lines_survive_a_registry_outage(
    host: Host, topics: Topics, name: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """Both tasks wait for the registry and continue by themselves; each schema is requested once."""
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    sent = [f"line {number}" for number in range(COUNT)]
    source.write_text("".join(f"{line}\n" for line in sent))
    registry.fault = lambda _method, _path: (503, b"{}")
    hoist = {"transforms": "h", "transforms.h.type": HOIST, "transforms.h.field": "text"}
    extract = {"transforms": "e", "transforms.e.type": EXTRACT, "transforms.e.field": "text"}
    files = "org.apache.kafka.connect.file.FileStream"
    host.run({
        "name": f"{name}-in", "connector.class": f"{files}SourceConnector", "file": str(source), "topic": name,
        **hoist, **avro(registry),
    })  # fmt: skip
    host.run({
        "name": f"{name}-out", "connector.class": f"{files}SinkConnector", "file": str(sink), "topics": name,
        **extract, **avro(registry),
    })  # fmt: skip
    assert eventually(lambda: len(registry.requests) > 2, TIMEOUT)
    assert host.rest.states(f"{name}-in") == ["RUNNING", "RUNNING"]
    registry.requests.clear()
    registry.fault = lambda method, path: (503, b"{}") if method == "GET" and "ids" in path else None
    assert eventually(lambda: topics.count(name) == COUNT, TIMEOUT)
    assert eventually(lambda: any("ids" in each for each in registry.requests), TIMEOUT)
    assert lines(sink) == []
    registry.fault = lambda _method, _path: None
    assert eventually(lambda: len(lines(sink)) >= COUNT, TIMEOUT)
    assert lines(sink) == sent
    assert sum("versions?" in each for each in registry.requests) == 1
    assert topics.read(name)[0].value == b"\0\0\0\0\1\x0cline 0"


@pytest.mark.parametrize(
    ("converter", "first"),
    [
        ("io.confluent.connect.json.JsonSchemaConverter", b'{"text":"line 0"}'),
        ("io.confluent.connect.protobuf.ProtobufConverter", b"\0\x0a\x06line 0"),
    ],
    ids=["JSON Schema", "Protobuf"],
)
def test_lines_round_trip_in_other_formats(
    host: Host, topics: Topics, name: str, registry: RegistryServer, tmp_path: Path, converter: str, first: bytes
) -> None:
    """From a file to a topic and back, in order and without repeats."""
    registry.fault = lambda _method, _path: None
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    sent = [f"line {number}" for number in range(COUNT)]
    source.write_text("".join(f"{line}\n" for line in sent))
    keys = {**avro(registry), "value.converter": converter}
    files = "org.apache.kafka.connect.file.FileStream"
    host.run({
        "name": f"{name}-in", "connector.class": f"{files}SourceConnector", "file": str(source), "topic": name,
        "transforms": "h", "transforms.h.type": HOIST, "transforms.h.field": "text", **keys,
    })  # fmt: skip
    host.run({
        "name": f"{name}-out", "connector.class": f"{files}SinkConnector", "file": str(sink), "topics": name,
        "transforms": "e", "transforms.e.type": EXTRACT, "transforms.e.field": "text", **keys,
    })  # fmt: skip
    assert eventually(lambda: len(lines(sink)) >= COUNT, TIMEOUT)
    assert lines(sink) == sent
    value = topics.read(name)[0].value
    assert value is not None
    assert value[5:] == first


def test_a_record_without_a_registered_schema_is_a_dead_letter(
    host: Host, topics: Topics, name: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """With Java's exception classes and messages; the records around it arrive."""
    registry.fault = lambda _method, _path: None
    topics.create(name)
    good = b"\0" + _string_id(registry, name).to_bytes(4, "big") + b"\x02"
    values = [good + b"a", b"plain text", good + b"b", b"\0\0\0\x0f\xffx", good + b"c"]
    topics.produce(name, [Record(None, value) for value in values])
    dead, sink = f"{name}-dead", tmp_path / "sink.txt"
    host.run({
        "name": name, "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": name, "file": str(sink), **avro(registry), "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": dead, "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    })  # fmt: skip
    assert eventually(lambda: lines(sink) == ["a", "b", "c"], TIMEOUT), lines(sink)
    assert eventually(lambda: topics.count(dead) == 2, TIMEOUT)
    for letter, value, cause in zip(topics.read(dead), values[1::2], ("Unknown magic byte!", "id=4095"), strict=True):
        error_headers = {key.removeprefix("__connect.errors."): (data or b"").decode() for key, data in letter.headers}
        assert letter.value == value
        assert error_headers["exception.class.name"] == "org.apache.kafka.connect.errors.DataException"
        assert error_headers["exception.message"] == f"Failed to deserialize data for topic {name} to Avro:"
        assert (
            "Caused by: org.apache.kafka.common.errors.SerializationException: Error "
            in error_headers["exception.stacktrace"]
        )
        assert cause in error_headers["exception.stacktrace"]


def test_recursive_records_reach_a_sink(
    host: Host, topics: Topics, name: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """At any depth; a transformation changes the outermost record, and the stage gets a recursive schema."""
    registry.fault = lambda _method, _path: None
    topics.create(name)
    text = (
        '{"type":"record","name":"Node","fields":[{"name":"value","type":"string"},'
        '{"name":"next","type":["null","Node"],"default":null}]}'
    )
    head = b"\0" + _id(registry, name, text).to_bytes(4, "big")
    topics.produce(name, [Record(None, head + b"\x02a\x02" * depth + b"\x02z\0") for depth in range(50)])
    sink = tmp_path / "sink.txt"
    mask = {"transforms": "m", "transforms.m.type": f"{MASK}$Value", "transforms.m.fields": "value"}
    host.run({
        "name": name, "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": name, "file": str(sink), **mask, **avro(registry),
    })  # fmt: skip
    assert eventually(lambda: len(lines(sink)) == 50, TIMEOUT), lines(sink)
    assert lines(sink)[:3] == [
        "Struct{value=}",
        "Struct{value=,next=Struct{value=z}}",
        "Struct{value=,next=Struct{value=a,next=Struct{value=z}}}",
    ]
    assert lines(sink)[-1].count("value=a") == 48


def _string_id(registry: RegistryServer, topic: str) -> int:
    """Return the id of a string schema, registered for a topic's values."""
    return _id(registry, topic, '"string"')


def _id(registry: RegistryServer, topic: str, text: str) -> int:
    """Return the id of a schema, registered for a topic's values."""
    from hearth_registry.schema_text import AVRO as TYPE
    from hearth_registry.schema_text import SchemaText

    found = registry.registry.register(f"{topic}-value", SchemaText(TYPE, text))
    assert found.schema_id is not None
    return found.schema_id
