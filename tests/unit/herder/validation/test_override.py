"""Override policies: Kafka Connect's own, with the responses of 4.3.1, and those of plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import PluginType
from hearth.herder.validation.override import ALL, new_policy, override_requests, refuse_overrides
from hearth_api import ConfigError, ConnectError
from hearth_api.worker import (
    ClientType,
    ConnectorClientConfigOverridePolicy,
    ConnectorClientConfigRequest,
    ConnectorType,
)
from tests.unit.herder.catalogue import SINK, SOURCE, WORKER, directory, plugin

POLICY, ALLOWLIST = "connector.client.config.override.policy", "connector.client.config.override.allowlist"
PACKAGE, SUFFIX = "org.apache.kafka.connect.connector.policy.", "ConnectorClientConfigOverridePolicy"
KEYS = (
    "acks", "linger.ms", "sasl.jaas.config", "sasl.mechanism", "security.protocol", "sasl.login.class", "zz",
    "client.id", "max.poll.records", "ssl.keystore.password", "",
)  # fmt: skip
PRINCIPAL = {"sasl.jaas.config", "sasl.mechanism", "security.protocol"}
Make = Callable[..., ConnectorClientConfigOverridePolicy]


@pytest.fixture
def new(tmp_path: Path) -> Make:
    """Provide the policies that a worker names."""

    def make(name: str | None, **settings: str) -> ConnectorClientConfigOverridePolicy:
        named = {} if name is None else {POLICY: name}
        return new_policy(WorkerConfig({**WORKER, **named, **settings}), directory(tmp_path))

    return make


@pytest.mark.parametrize(
    ("name", "allowlist", "allowed"),
    [
        ("All", None, set(KEYS)),
        ("None", None, set()),
        ("Principal", None, PRINCIPAL),
        ("Allowlist", None, set()),
        ("Allowlist", "", set()),
        ("Allowlist", " ", set()),
        ("Allowlist", "acks, zz", {"acks", "zz"}),
        ("Allowlist", "acks,acks", {"acks"}),
        ("Allowlist", "ACKS", set()),
        ("Allowlist", "producer.override.acks", set()),
        ("Allowlist", "sasl.jaas.config", {"sasl.jaas.config"}),
    ],
)
def test_own_policies_allow_what_kafkas_allow(new: Make, name: str, allowlist: str | None, allowed: set[str]) -> None:
    """A forbidden setting is reported with the policy; the value is unchanged."""
    policy = new(name, **({} if allowlist is None else {ALLOWLIST: allowlist}))
    asked = ConnectorClientConfigRequest("c", ConnectorType.SINK, SINK, dict.fromkeys(KEYS, "v"), ClientType.CONSUMER)
    refusal = f"The '{name}' policy does not allow '%s' to be overridden in the connector configuration."
    assert [(value.name, value.value, value.error_messages) for value in policy.validate(asked)] == [
        (key, "v", [] if key in allowed else [refusal % key]) for key in KEYS
    ]


@pytest.mark.parametrize("name", ["None", "None" + SUFFIX, PACKAGE + "None" + SUFFIX])
def test_a_policy_has_the_names_of_a_plugin(new: Make, name: str) -> None:
    """Alias, simple name and full name."""
    asked = ConnectorClientConfigRequest("c", ConnectorType.SOURCE, SOURCE, {"acks": "1"}, ClientType.PRODUCER)
    assert new(name).validate(asked)[0].error_messages


def test_everything_may_be_overridden_by_default(new: Make) -> None:
    """As in Kafka Connect since 3.0."""
    assert new(None) is ALL


@pytest.mark.parametrize("name", ["Other", PACKAGE + "None", "none", "", SOURCE])
def test_an_unknown_policy_is_rejected_with_the_known_ones(new: Make, name: str) -> None:
    """At startup, not with the first override."""
    with pytest.raises(ConfigError, match=rf"connector\.client\.config\.override\.policy='{name}'") as caught:
        new(name)
    assert "All, None, Principal, Allowlist" in (caught.value.hint or "")


def test_an_allowlist_with_an_empty_item_is_rejected(new: Make) -> None:
    """With Kafka's message."""
    with pytest.raises(ConfigError, match=r"config\.override\.allowlist' values must not be empty"):
        new("Allowlist", **{ALLOWLIST: ","})


@pytest.mark.parametrize(
    ("class_name", "config", "clients"),
    [
        (SOURCE, {}, ["producer"]),
        (SOURCE, {"topic.creation.groups": ""}, ["producer", "admin"]),
        (SOURCE, {"errors.deadletterqueue.topic.name": "d"}, ["producer"]),
        (SINK, {}, ["consumer"]),
        (SINK, {"errors.deadletterqueue.topic.name": " "}, ["consumer"]),
        (SINK, {"errors.deadletterqueue.topic.name": "d"}, ["producer", "consumer", "admin"]),
    ],
)
def test_a_policy_validates_the_clients_that_tasks_use(
    class_name: str, config: Mapping[str, str], clients: list[str]
) -> None:
    """As in Kafka Connect: a source that never reads has no consumer overrides."""
    type_ = PluginType.SINK if class_name == SINK else PluginType.SOURCE
    given = {**config, "name": "n", "producer.override.acks": "1", "consumer.override.x": "2", "admin.override.y": "3"}
    asked = list(override_requests(plugin(class_name, type_, "Source"), given, WorkerConfig(WORKER)))
    assert [str(each.client_type) for each in asked] == clients
    settings = {"producer": {"acks": "1"}, "consumer": {"x": "2"}, "admin": {"y": "3"}}
    assert [each.client_props for each in asked] == [settings[client] for client in clients]
    assert {(each.connector_name, str(each.connector_type), each.connector_class) for each in asked} == {
        ("n", str(type_), class_name)
    }


def test_settings_are_validated_in_the_order_of_javas_maps() -> None:
    """The response of a validation shows the order."""
    given = {f"producer.override.{key}": "v" for key in ("acks", "linger.ms", "zz")}
    (asked,) = override_requests(plugin(SOURCE, PluginType.SOURCE, "Source"), given, WorkerConfig(WORKER))
    assert list(asked.client_props) == ["zz", "acks", "linger.ms"]


def test_tasks_do_not_start_with_what_a_policy_forbids(new: Make) -> None:
    """The policy may have become stricter; values are not shown, because they may be secret."""
    source = plugin(SOURCE, PluginType.SOURCE, "Source")
    config = {"name": "n", "producer.override.sasl.jaas.config": "s3cret", "producer.override.acks": "1"}
    refuse_overrides(new("All"), source, config, WorkerConfig(WORKER))
    with pytest.raises(
        ConnectError, match=r"Client Config Overrides not allowed \[The 'Principal' .*'acks'"
    ) as caught:
        refuse_overrides(new("Principal"), source, config, WorkerConfig(WORKER))
    assert "s3cret" not in str(caught.value)
