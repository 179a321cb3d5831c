"""Connectors have the defaults Kafka Connect's have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hearth_api import (
    ConfigDef,
    ConfigType,
    ConnectError,
    Connector,
    ConnectorTransactionBoundaries,
    SinkConnector,
    SourceConnector,
    Task,
)


class Idle(Connector):
    """Does nothing but note its calls."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def start(self, props: Mapping[str, str]) -> None:
        self.calls.append(("start", props))

    def stop(self) -> None:
        self.calls.append("stop")

    def task_class(self) -> type[Task]:
        return Task

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return []

    def config(self) -> ConfigDef:
        return ConfigDef().define("n", ConfigType.INT)

    def version(self) -> str:
        return "1"


class IdleSource(Idle, SourceConnector):
    """An idle source connector."""


class IdleSink(Idle, SinkConnector):
    """An idle sink connector."""


def test_validation_follows_the_definition() -> None:
    """Without an override each of the connector's own keys is validated, and no other."""
    config = Idle().validate({"n": "x", "name": "c"})
    assert [value.name for value in config.values] == ["n"]
    assert config["n"].error_messages == ["Invalid value x for configuration n: Not a number of type INT"]
    with pytest.raises(KeyError):
        config["name"]


def test_a_connector_without_a_definition_is_reported() -> None:
    """The message is Kafka Connect's, which names the class."""

    class Careless(Idle):
        def config(self) -> ConfigDef:
            return None  # type: ignore[return-value]

    with pytest.raises(ConnectError, match=r"Careless\.config\(\) must return a ConfigDef that is not null"):
        Careless().validate({})


def test_reconfiguration_stops_and_starts() -> None:
    """A connector that does not override it restarts with the changed configuration."""
    connector = Idle()
    connector.reconfigure({"n": "2"})
    assert connector.calls == ["stop", ("start", {"n": "2"})]


def test_source_connector_promises_nothing_by_default() -> None:
    """Exactly once is unknown, boundaries are unsupported, offsets are not checked."""
    connector = IdleSource()
    assert connector.exactly_once_support({}) is None
    assert connector.can_define_transaction_boundaries({}) is ConnectorTransactionBoundaries.UNSUPPORTED
    assert connector.alter_offsets({}, []) is False


def test_sink_connector_does_not_claim_to_have_checked_offsets() -> None:
    """REST tells users whether the connector itself checked their request."""
    assert IdleSink().alter_offsets({}, {}) is False
