"""A real registry starts, keeps its schemas across restarts, and serves the converters."""

from __future__ import annotations

import decimal
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from hearth.broker.apicurio import ApicurioRegistry
from hearth.foundation.port import PortTaken
from hearth_api import ConflictError, DataError, Decimal, SchemaBuilder, Struct, Timestamp
from hearth_execution.failure import summary_of
from hearth_registry.avro_converter import AvroConverter
from hearth_registry.json_schema_converter import JsonSchemaConverter
from hearth_registry.open_registry import open_registry
from hearth_registry.protobuf_converter import ProtobufConverter
from hearth_registry.registry import LATEST, Registry, RegistryRefusal
from hearth_registry.registry_converter import RegistryConverter
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.schema_text import AVRO, JSON, PROTOBUF, Reference, SchemaText
from tests.reservation import reserve_port

pytestmark = pytest.mark.slow


class Command:
    """`hearth registry`, as it runs in a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, reserve_port()
        command = [sys.executable, "-m", "hearth", "registry", "--data-dir", str(folder), "--port", str(self.port)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        self._output = self._process.stderr
        self.lines = list(takewhile(lambda line: "Ctrl-C" not in line, self._output))
        """Its output up to the line that says how to stop it."""

    @property
    def url(self) -> str:
        """Return the address that it printed."""
        return self.lines[-1].split("schema.registry.url=")[1].split()[0]

    def end(self) -> tuple[int, str]:
        """Stop it as Ctrl-C does; return its exit code and its last output."""
        self._process.send_signal(signal.SIGINT)
        with self._output:
            return self._process.wait(), self._output.read()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    """Run one real registry for this module; Ctrl-C at the end must not be a failure."""
    command = Command(tmp_path_factory.mktemp("registry"))
    try:
        yield command
    finally:
        code, words = command.end()
    assert (code, words) == (0, "stopping the registry\n")


@pytest.fixture
def registry(server: Command) -> Registry:
    """Return a client without a cache."""
    return open_registry(RegistrySettings({"schema.registry.url": server.url}))


def record(name: str, *fields: str) -> SchemaText:
    """Return an Avro schema of text fields; those that end with ? have a default."""
    members: list[dict[str, str]] = [
        {"name": each.rstrip("?"), "type": "string"} | ({"default": ""} if each.endswith("?") else {})
        for each in fields
    ]
    tree = {"type": "record", "name": name, "fields": members}
    return SchemaText(AVRO, json.dumps(tree, separators=(",", ":")))


def converter(server: Command, **keys: Any) -> AvroConverter:
    """Return an Avro converter that uses the registry."""
    made = AvroConverter()
    made.configure({"schema.registry.url": server.url, **{k.replace("_", "."): v for k, v in keys.items()}}, False)
    return made


def test_schemas_are_registered_looked_up_and_rejected(registry: Registry) -> None:
    """The default compatibility is Confluent's."""
    first = registry.register("real-value", record("R", "a"))
    assert first.schema_id is not None
    assert registry.by_id(first.schema_id, "real-value").text == record("R", "a")
    assert registry.look_up("real-value", record("R", "a")).version == 1
    assert registry.compatibility("real-value") == "BACKWARD"
    assert registry.incompatibilities("real-value", record("R", "a", "b"))
    with pytest.raises(RegistryRefusal, match="error code: 409"):
        registry.register("real-value", record("R", "a", "b"))
    assert registry.incompatibilities("real-value", record("R", "a", "b?")) == []
    registry.register("real-value", record("R", "a", "b?"))
    assert registry.by_version("real-value", LATEST).version == 2


def test_missing_and_invalid_schemas_have_confluents_error_codes(registry: Registry) -> None:
    """The converters' error messages are therefore those for Confluent's registry."""
    asks: dict[int, Callable[[], object]] = {
        40401: lambda: registry.by_version("nowhere", LATEST),
        40403: lambda: registry.by_id(987654, None),
        42201: lambda: registry.register("bad", SchemaText(AVRO, "{")),
    }
    for code, ask in asks.items():
        with pytest.raises(RegistryRefusal, match=f"error code: {code}"):
            ask()
    assert registry.incompatibilities("nowhere", record("R")) == []
    assert registry.associated_subjects("-", "t", False) == []


@pytest.mark.parametrize(
    "subject",
    ["plain", "with space", "größe", "google/type/date.proto", "a%2Fb", "a%b", "a+b", "x?y", "x=y&z", "#", ":.:c"],
)
def test_the_root_path_serves_the_confluent_api(server: Command, subject: str) -> None:
    """Every Confluent configuration has `http://localhost:8081`; subjects are not normalized."""
    own_path = open_registry(RegistrySettings({"schema.registry.url": f"{server.url}/apis/ccompat/v7"}))
    root = open_registry(RegistrySettings({"schema.registry.url": f"{server.url}/"}))
    first = root.register(f"root {subject}", record("Root", "a"))
    assert own_path.by_version(f"root {subject}", LATEST) == root.by_version(f"root {subject}", LATEST)
    assert own_path.register(f"root {subject}", record("Root", "a")).schema_id == first.schema_id
    assert root.look_up(f"root {subject}", record("Root", "a")).version == 1
    assert root.compatibility(f"root {subject}") == "BACKWARD"
    assert root.incompatibilities(f"root {subject}", record("Root", "a", "b"))


def test_other_schema_types_and_references_are_stored(registry: Registry) -> None:
    """A schema is returned with its references."""
    registry.register("inner", record("Inner", "x"))
    text = '{"type":"record","name":"Outer","fields":[{"name":"i","type":"Inner"}]}'
    outer = SchemaText(AVRO, text, (Reference("Inner", "inner", 1),))
    found = registry.register("outer", outer)
    assert found.schema_id is not None
    assert registry.by_id(found.schema_id, None).text == outer
    for kind, other in {
        JSON: '{"type":"object","properties":{}}',
        PROTOBUF: 'syntax = "proto3";\n\nmessage M {\n  int32 a = 1;\n}\n',
    }.items():
        found = registry.register(f"kind-{kind}", SchemaText(kind, other))
        assert found.schema_id is not None
        back = registry.by_id(found.schema_id, None).text
        assert (back and back.schema_type, back and back.text) == (kind, other)


def test_avro_round_trips_and_a_sink_gets_the_version(server: Command) -> None:
    """A schema that is incompatible with the latest version fails its records with the reason."""
    schema = SchemaBuilder.struct().name("com.acme.Line").field("text", SchemaBuilder.string().build()).build()
    narrow = SchemaBuilder.struct().name("com.acme.Line").field("text", SchemaBuilder.int64().build()).build()
    writer, reader = converter(server), converter(server)
    data = writer.from_connect_data("lines", schema, Struct(schema).put("text", "größe"))
    found = reader.to_connect_data("lines", data)
    assert found.value.get("text") == "größe"
    assert found.schema is not None
    assert (found.schema.name, found.schema.version) == ("com.acme.Line", 1)
    with pytest.raises(DataError, match="Failed to serialize Avro data from topic lines:") as caught:
        writer.from_connect_data("lines", narrow, Struct(narrow).put("text", 1))
    assert "Error registering Avro schema" in summary_of(caught.value)
    with pytest.raises(DataError):
        reader.to_connect_data("copied", data)


@pytest.mark.parametrize(("kind", "name"), [(JsonSchemaConverter, "com.acme.Line"), (ProtobufConverter, "Line")])
def test_other_formats_round_trip(server: Command, kind: type[RegistryConverter], name: str) -> None:
    """With a timestamp, a decimal and a short, for which Protobuf needs options and imports."""
    schema = (
        SchemaBuilder.struct()
        .name("com.acme.Line")
        .field("text", SchemaBuilder.string().build())
        .field("at", Timestamp.SCHEMA)
        .field("amount", Decimal.schema(2))
        .field("small", SchemaBuilder.int8().build())
        .build()
    )
    value = Struct(schema).put("text", "größe").put("at", datetime(2026, 1, 2, tzinfo=timezone.utc))
    value.put("amount", decimal.Decimal("1.50")).put("small", 7)
    topic = f"lines-{kind.__name__}"
    made = []
    for _ in range(2):
        converter = kind()
        converter.configure({"schema.registry.url": server.url}, False)
        made.append(converter)
    found = made[1].to_connect_data(topic, made[0].from_connect_data(topic, schema, value))
    assert found.schema is not None
    assert (found.schema.name, found.schema.version) == (name, 1)
    assert found.value.raw_values() == value.raw_values()


def test_a_second_server_on_the_directory_or_port_is_refused(server: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the running server and the remedy."""
    assert f"the schema registry serves on {server.url}, its data is in {server.folder}" in server.lines[-2]
    assert server.url == f"http://127.0.0.1:{server.port}"
    monkeypatch.setattr("hearth.broker.data_directory._LOCK_TIMEOUT", 0.0)
    with pytest.raises(ConflictError, match="another registry uses"):
        ApicurioRegistry(server.folder).start()
    with pytest.raises(PortTaken):
        ApicurioRegistry(server.folder.with_name("other"), server.port).start()


@pytest.mark.long
def test_a_kill_loses_no_acknowledged_schema(tmp_path: Path) -> None:
    """A second start continues with the data, on the same port."""
    with ApicurioRegistry(tmp_path, reserve_port()) as running:
        registry = open_registry(RegistrySettings({"schema.registry.url": running.url}))
        kept = registry.register("kept", record("Kept", "a"))
        running.kill()
        running.start()
        assert registry.look_up("kept", record("Kept", "a")).schema_id == kept.schema_id
