"""Loaded plugins: how each kind is configured, named and closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest

from hearth_api import (
    STRING_SCHEMA,
    Converter,
    HeaderConverter,
    Headers,
    Schema,
    SchemaAndValue,
    SinkRecord,
    SourceRecord,
    Transformation,
)
from hearth_api.batch import Batch
from hearth_execution.plugins import Plugins

seen: list[Any] = []


class Step(Transformation):
    """Records how it is configured and closed."""

    def version(self) -> str:
        """Return a version."""
        return "1.2"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Record the configuration."""
        seen.append(("configure", dict(configs)))

    def apply(self, record: Any) -> Any:
        """Return the record."""
        return record

    def close(self) -> None:
        """Record the call."""
        seen.append("close")


class BadEnd(Step):
    """Fails to close."""

    def close(self) -> None:
        """Fail."""
        raise RuntimeError("cannot close")


class Both(Converter, HeaderConverter):
    """A converter and a header converter in one, like Kafka's ``StringConverter``."""

    def configure(self, configs: Mapping[str, Any], is_key: bool | None = None) -> None:
        """Record the configuration and the side."""
        seen.append((dict(configs), is_key))

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return nothing."""
        return None

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return nothing."""
        return SchemaAndValue(None, None)

    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return nothing."""
        return None

    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return nothing."""
        return SchemaAndValue(None, None)

    def close(self) -> None:
        """Hold nothing."""


@pytest.fixture(autouse=True)
def _forget() -> None:
    seen.clear()


def load(plugins: Plugins, role: str, name: str, config: dict[str, str] | None = None) -> str | None:
    """Load a plugin of this file."""
    return plugins.load(role, f"users.{name}", f"{__name__}:{name}", config or {})


def test_plugin_is_configured_once_and_returns_its_version() -> None:
    """Loading creates and configures it; its role gives the instance and its configured name."""
    plugins = Plugins("source")
    assert load(plugins, "transforms.s", "Step", {"a": "1"}) == "1.2"
    assert seen == [("configure", {"a": "1"})]
    assert isinstance(plugins["transforms.s"], Step)
    assert plugins.class_name("transforms.s") == "users.Step"


def test_converters_are_configured_for_their_side() -> None:
    """Key and value converters get ``is_key``; a header converter gets ``converter.type`` with its configuration."""
    plugins = Plugins("source")
    for role in ("key.converter", "value.converter", "header.converter"):
        load(plugins, role, "Both", {"a": "1"})
    assert seen == [({"a": "1"}, True), ({"a": "1"}, False), ({"a": "1", "converter.type": "header"}, None)]


@pytest.mark.parametrize(
    ("role", "phase"),
    [
        ("key.converter", "KEY_CONVERTER"),
        ("value.converter", "VALUE_CONVERTER"),
        ("header.converter", "HEADER_CONVERTER"),
        ("transforms.s", "TRANSFORMATION"),
        ("predicates.p", "TRANSFORMATION"),
    ],
)
def test_failures_are_named_by_kafka_connects_phases(role: str, phase: str) -> None:
    """Reports and dead letters have Kafka Connect's name of the phase."""
    plugins = Plugins("source")
    load(plugins, role, "Both")
    attempts = plugins.attempts(role)
    attempts.one_by_one([3], int, ["x"], 0)
    (failure,) = attempts.failures
    assert (failure.row, failure.phase, failure.class_name) == (3, phase, "users.Both")


@pytest.mark.parametrize(("type_", "kind"), [("source", SourceRecord), ("sink", SinkRecord)])
def test_records_match_the_kind_of_connector(type_: str, kind: type[Any]) -> None:
    """A transformation gets source records in a source, sink records in a sink."""
    columns = {"value": pa.array(["a"]), "partition": pa.array([0], pa.int32()), "offset": pa.array([5])}
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    (record,) = Plugins(type_).records(Batch("t", None, STRING_SCHEMA, data))
    assert type(record) is kind
    assert record.value == "a"


def test_every_plugin_is_closed_once(caplog: pytest.LogCaptureFixture) -> None:
    """An error in one is logged and does not affect the others; nothing is closed twice."""
    plugins = Plugins("source")
    load(plugins, "transforms.a", "BadEnd")
    load(plugins, "transforms.b", "Step")
    plugins.close()
    plugins.close()
    assert seen[2:] == ["close"]
    assert "cannot close" in caplog.text
