"""Lists the schemas a source would register, using its real task and a registry, without Kafka."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.cli.main import run
from hearth_registry.memory_registry import MemoryRegistry
from hearth_registry.schema_text import AVRO, SchemaText
from tests.peer.hearth_connect import file_bundle
from tests.registry_server import RegistryServer, serving

LINE = '{"type":"record","name":"Line","namespace":"org.example","fields":[{"name":"text","type":"string"}]'
WRITTEN = LINE + ',"connect.name":"org.example.Line"}'
TRANSFORMS = "org.apache.kafka.connect.transforms."


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    """Serve a registry that rejects all text schemas but longer ones."""

    def judge(_subject: str, schema: SchemaText, before: list[SchemaText]) -> list[str]:
        return [] if len(schema.text) > len(before[-1].text) else ["it got shorter"]

    with serving(MemoryRegistry(judge)) as server:
        yield server


@pytest.fixture
def arguments(tmp_path: Path, server: RegistryServer) -> list[str]:
    """Write a worker's and a connector's file; the source repeats its file without end."""
    worker, connector, lines = (tmp_path / name for name in ("worker.properties", "orders.json", "lines.txt"))
    lines.write_text("".join(f"{number}\n" for number in range(5000)))
    worker.write_text(
        f"bootstrap.servers=nowhere.invalid:1\nplugin.path={file_bundle()}\noffset.storage.file.filename={tmp_path}/o\n"
        "key.converter=org.apache.kafka.connect.storage.StringConverter\n"
        "value.converter=io.confluent.connect.avro.AvroConverter\n"
        f"value.converter.schema.registry.url={server.url}\n"
    )
    config = {
        "connector.class": "FileStreamSource", "file": str(lines), "topic": "orders", "transforms": "h,n",
        "transforms.h.type": f"{TRANSFORMS}HoistField$Value", "transforms.h.field": "text",
        "transforms.n.type": f"{TRANSFORMS}SetSchemaMetadata$Value", "transforms.n.schema.name": "org.example.Line",
    }  # fmt: skip
    connector.write_text(json.dumps({"name": "orders", "config": config}))
    return [str(connector), "--worker-config", str(worker), "--wait", "30"]


def test_schemas_are_listed_without_registering_them(
    server: RegistryServer, arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """New, or incompatible with the reasons; the exit code says whether registration would succeed."""
    facts = "for orders-value (AVRO, no version yet, compatibility BACKWARD)"
    assert run(["schemas", "check", *arguments]) == 0
    assert capfd.readouterr().out.strip() == f"orders value: is new {facts}"
    server.registry.register("orders-value", SchemaText(AVRO, WRITTEN.replace("text", "another_name")))
    assert run(["schemas", "check", *arguments, "--json"]) == 1
    (row,) = json.loads(capfd.readouterr().out)
    assert (row["topic"], row["side"], row["against"], row["text"]) == ("orders", "value", ["it got shorter"], WRITTEN)
    assert not any("versions?normalize" in each for each in server.requests)
    run(["schemas", "diff", *arguments])
    shown = capfd.readouterr().out
    assert '-      "name": "another_name",' in shown
    assert '+      "name": "text",' in shown


def test_a_connector_without_schemas_is_reported(
    server: RegistryServer, arguments: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A sink, a converter without a registry, and a source without records."""
    connector = tmp_path / "orders.json"
    given = json.loads(connector.read_text())
    cases = {
        "is a sink and registers no schemas": {"connector.class": "FileStreamSink", "topics": "t", "file": "f"},
        "do not register schemas": {"value.converter": "org.apache.kafka.connect.storage.StringConverter"},
        "returned no records within 0.2 s": {"file": str(tmp_path / "empty.txt")},
    }
    (tmp_path / "empty.txt").touch()
    arguments[-1] = "0.2"
    for message, keys in cases.items():
        connector.write_text(json.dumps({**given, "config": {**given["config"], **keys}}))
        assert run(["schemas", "check", *arguments]) != 0
        assert message in capfd.readouterr().err
