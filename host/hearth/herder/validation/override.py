"""Policies for the Kafka client settings that a connector may override (KIP-458): Kafka Connect's own, and plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hearth.config import WorkerConfig
from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.config.topic_key import PREFIX as TOPIC_CREATION
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth_api import ConfigError, ConfigValue, ConnectError, NotFoundError, Settings, ValidList, key
from hearth_api.java import hash_ordered
from hearth_api.worker import (
    ClientType,
    ConnectorClientConfigOverridePolicy,
    ConnectorClientConfigRequest,
    ConnectorType,
)

POLICY = "connector.client.config.override.policy"
_PRINCIPAL_KEYS = ("sasl.jaas.config", "sasl.mechanism", "security.protocol")
_PACKAGE = "org.apache.kafka.connect.connector.policy."
_SUFFIX = PluginType.OVERRIDE_POLICY.suffix


class AllowlistConfig(Settings):
    """The worker setting of the Allowlist policy."""

    allowlist: list[str] = key(
        "connector.client.config.override.allowlist",
        default=[],
        check=ValidList(),
        doc="The settings of clients that connectors may override under the policy Allowlist, without prefix.",
    )


class KeyPolicy(ConnectorClientConfigOverridePolicy):
    """One of Kafka Connect's own policies, which depends only on the key."""

    def __init__(self, name: str, is_allowed: Callable[[str], bool]) -> None:
        self.name = name
        self._is_allowed = is_allowed

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Do nothing: the policy was created from the worker's settings."""

    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        """Return a value for each key, with Kafka Connect's message if it is not allowed."""
        return [self._value(name, value) for name, value in request.client_props.items()]

    def _value(self, name: str, value: Any) -> ConfigValue:
        outcome = ConfigValue(name, value)
        if not self._is_allowed(name):
            outcome.add_error_message(
                f"The '{self.name}' policy does not allow '{name}' to be overridden in the connector configuration."
            )
        return outcome


ALL = KeyPolicy("All", lambda name: True)
"""Allows all overrides; Kafka Connect's default."""


_OWN: Mapping[str, Callable[[WorkerConfig], ConnectorClientConfigOverridePolicy]] = {
    "All": lambda worker: ALL,
    "None": lambda worker: KeyPolicy("None", lambda name: False),
    "Principal": lambda worker: KeyPolicy("Principal", _PRINCIPAL_KEYS.__contains__),
    "Allowlist": lambda worker: KeyPolicy("Allowlist", AllowlistConfig(worker.originals).allowlist.__contains__),
}
"""Kafka Connect's own policies by their shortest name."""


def new_policy(worker: WorkerConfig, directory: PluginDirectory) -> ConnectorClientConfigOverridePolicy:
    """Return the configured policy that a worker names; raise ConfigError if it does not exist."""
    given = worker.override_policy
    for name, new in _OWN.items():
        if given in (name, name + _SUFFIX, _PACKAGE + name + _SUFFIX):
            return new(worker)
    try:
        plugin = directory.plugin(given, None, PluginType.OVERRIDE_POLICY)
    except NotFoundError as error:
        raise ConfigError(
            f"{POLICY}={given!r} is unknown",
            code="policy.unknown",
            hint=f"use one of {', '.join(_OWN)}, or put its bundle on plugin.path",
        ) from error
    policy = _plugin_policy(plugin, worker, directory)
    policy.configure(worker.originals)
    return policy


def _plugin_policy(
    plugin: Plugin, worker: WorkerConfig, directory: PluginDirectory
) -> ConnectorClientConfigOverridePolicy:
    from hearth.herder.plugin.policy_stage import PolicyStage, StagedPolicy  # few workers use one
    from hearth.herder.plugin.stage import answer_seconds

    seconds = answer_seconds(worker, {})
    return StagedPolicy(lambda: PolicyStage(plugin, directory.environment(plugin), worker.originals, seconds))


def override_requests(
    connector: Plugin, config: Mapping[str, Any], worker: WorkerConfig
) -> Iterator[ConnectorClientConfigRequest]:
    """Yield a connector's overrides for each client that its tasks use, in Kafka Connect's order.

    The keys are in the order of Java's maps.
    """
    for client in used_clients(connector, config, worker):
        prefix = override_prefix(client)
        entries = hash_ordered(config, copied=len(config)).items()
        given = {name.removeprefix(prefix): value for name, value in entries if name.startswith(prefix)}
        given.pop("", None)  # the bare prefix is not a key
        yield ConnectorClientConfigRequest(
            config.get("name") or "",
            ConnectorType(str(connector.type)),
            connector.class_name,
            hash_ordered(given),
            client,
        )


def used_clients(connector: Plugin, config: Mapping[str, Any], worker: WorkerConfig) -> list[ClientType]:
    """Return the clients that a connector's tasks use, in Kafka Connect's order."""
    is_source = connector.type is PluginType.SOURCE
    has_dead_letters = not is_source and bool((config.get(DEAD_LETTER_TOPIC) or "").strip())
    creates_topics = is_source and any(name.startswith(TOPIC_CREATION) for name in config)
    has_offsets = is_source and worker.has_own_offsets(config)
    used = {
        ClientType.PRODUCER: is_source or has_dead_letters,
        ClientType.CONSUMER: not is_source or has_offsets,
        ClientType.ADMIN: has_dead_letters or creates_topics or has_offsets,
    }
    return [client for client, is_used in used.items() if is_used]


def override_prefix(client: ClientType) -> str:
    """Return the prefix of a connector's overrides for a client."""
    return f"{client}.override."


def refuse_overrides(
    policy: ConnectorClientConfigOverridePolicy, connector: Plugin, config: Mapping[str, Any], worker: WorkerConfig
) -> None:
    """Raise ConnectError if a policy no longer allows the overrides of a connector's clients."""
    for request in override_requests(connector, config, worker):
        messages = [message for value in policy.validate(request) for message in value.error_messages]
        if messages:
            raise ConnectError(
                f"Client Config Overrides not allowed [{', '.join(messages)}]", code="override.not_allowed"
            )
