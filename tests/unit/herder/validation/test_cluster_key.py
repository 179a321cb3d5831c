"""Checks of a cluster on configurations, with Kafka Connect's messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hearth.config import DistributedConfig, SourceConnectorConfig
from hearth.discovery import PluginType
from hearth.herder.plugin.pool import StagePool
from hearth.herder.validation.cluster_key import check_cluster_keys
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.override import used_clients
from hearth_api import ConfigValue, ConnectError
from tests.unit.herder.catalogue import CLUSTER, GOLDEN, SINK, SOURCE, WORKER, directory, plugin

SUPPORT, BOUNDARY = "exactly.once.support", "transaction.boundary"


def worker(support: str = "enabled", group: str = "g") -> DistributedConfig:
    """Return the settings of a distributed worker."""
    return DistributedConfig({**WORKER, **CLUSTER, "group.id": group, "exactly.once.source.support": support})


def unasked(boundaries: bool) -> str | None:
    """Fail: the connector must not be asked."""
    raise AssertionError("the connector was asked")


def complaints(
    config: Mapping[str, str], support_of: Callable[[bool], str | None] = unasked, support: str = "enabled"
) -> dict[str, list[str]]:
    """Return the errors of a source's values."""
    values = SourceConnectorConfig.definition().validate_all({"name": "n", "connector.class": SOURCE, **config})
    check_cluster_keys(worker(support), plugin(SOURCE, PluginType.SOURCE, "Source"), config, values, support_of)
    return {name: value.error_messages for name, value in values.items() if value.error_messages}


def test_exactly_once_methods_are_called_only_if_necessary() -> None:
    """A connector that does not require exactly once always runs, and other boundaries need no support."""
    assert complaints({}) == {}
    assert complaints({SUPPORT: "REQUESTED", BOUNDARY: "interval"}) == {}
    assert SUPPORT in complaints({SUPPORT: "nonsense"})
    assert complaints({SUPPORT: "Required"}, lambda boundaries: "SUPPORTED") == {}
    assert complaints({BOUNDARY: "Connector"}, lambda boundaries: "SUPPORTED" if boundaries else None) == {}


@pytest.mark.parametrize(
    ("support_of", "message"),
    [
        (None, "The connector does not implement the API required for preflight validation"),
        ("UNSUPPORTED", "The connector does not support exactly-once semantics with the provided configuration."),
        ("perhaps", "An unexpected error occurred during validation: Unexpected value returned from"),
    ],
)
def test_a_connector_without_required_support_is_rejected(support_of: str | None, message: str) -> None:
    """Whatever else it returns."""
    (found,) = complaints({SUPPORT: "required"}, lambda boundaries: support_of)[SUPPORT]
    assert found.startswith(message)


def test_a_cluster_without_exactly_once_reports_it_beside_the_connectors_answer() -> None:
    """So does one that is preparing."""
    for support in ("disabled", "preparing"):
        found = complaints({SUPPORT: "required"}, lambda boundaries: "UNSUPPORTED", support)[SUPPORT]
        assert [each.split(" exactly")[0] for each in found] == [
            "This worker does not have", "The connector does not support",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("support_of", "message"),
    [
        (None, "This connector has returned a null value from its canDefineTransactionBoundaries method"),
        ("UNSUPPORTED", "The connector does not support connector-defined transaction boundaries"),
    ],
)
def test_boundaries_are_for_connectors_that_define_them(support_of: str | None, message: str) -> None:
    """Others must use another boundary."""
    (found,) = complaints({BOUNDARY: "connector"}, lambda boundaries: support_of)[BOUNDARY]
    assert found.startswith(message)


@pytest.mark.parametrize(("text", "end"), [("no licence ", ": no licence"), (" ", "; please see the worker logs")])
def test_an_exception_of_the_connector_is_an_error_of_the_value(text: str, end: str) -> None:
    """The user gets its message, or a reference to the log."""

    def ask(boundaries: bool) -> str | None:
        raise ConnectError(text)

    found = complaints({SUPPORT: "required", BOUNDARY: "connector"}, ask)
    begin = f"An unexpected error occurred during validation{end}"
    assert {key: [each[: len(begin)] for each in texts] for key, texts in found.items()} == {
        SUPPORT: [begin], BOUNDARY: [begin],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "key", "message"),
    [
        ({"consumer.override.group.id": "connect-n"}, "consumer.override.group.id", "Consumer group connect-n"),
        ({}, "name", "Consumer group for sink connector named n"),
    ],
)
def test_a_sink_may_not_use_the_group_of_the_workers(config: Mapping[str, str], key: str, message: str) -> None:
    """Neither by its name nor by an override; with another group its name is free."""
    given = {"name": "n", **config}
    sink, group = plugin(SINK, PluginType.SINK, "Sink"), worker(group="connect-n")
    values = {"name": ConfigValue("name", "n")}
    check_cluster_keys(group, sink, given, values, unasked)
    assert values[key].error_messages == [f"{message} conflicts with Connect worker group connect-n"]
    values = {"name": ConfigValue("name", "n")}
    check_cluster_keys(group, sink, {**given, "consumer.override.group.id": "other"}, values, unasked)
    assert values["name"].error_messages == []
    assert values["consumer.override.group.id"].value == "other"


def test_overrides_of_a_sources_offset_clients_are_validated() -> None:
    """With transactions or its own offsets topic, its overrides of these clients need the policy's approval."""
    source = plugin(SOURCE, PluginType.SOURCE, "Source")
    everyone = ["producer", "consumer", "admin"]
    assert [str(each) for each in used_clients(source, {}, worker())] == everyone
    assert [str(each) for each in used_clients(source, {}, worker("disabled"))] == ["producer"]
    own: dict[str, Any] = {"offsets.storage.topic": "t"}
    assert [str(each) for each in used_clients(source, own, worker("disabled"))] == everyone


def test_validation_calls_the_connector_in_its_stage(tmp_path: Path) -> None:
    """This one has no exactly-once support and defines no boundaries."""
    pool = StagePool()
    config = {**GOLDEN["cases"]["source minimal"]["config"], SUPPORT: "required", BOUNDARY: "connector"}
    result = ConnectorValidator(directory(tmp_path), worker(), pool).validate(config)
    pool.close()
    found = {info["value"]["name"]: info["value"]["errors"] for info in result["configs"] if info["value"]["errors"]}
    assert found[SUPPORT][0].startswith("The connector does not implement the API")
    assert found[BOUNDARY][0].startswith("The connector does not support connector-defined")
