"""Policies for the Kafka client settings that connectors may override."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from hearth_api.config.value import ConfigValue
from hearth_api.plugin import ConnectPlugin


class ConnectorType(str, Enum):
    """The kinds of connectors; the value is what REST shows.

    The kind is `UNKNOWN` if the connector's plugin is not installed.
    """

    SOURCE = "source"
    SINK = "sink"
    UNKNOWN = "unknown"

    def __str__(self) -> str:
        """Return the text that REST shows."""
        return self.value


class ClientType(str, Enum):
    """The Kafka clients of a connector's tasks; the value is the prefix before `.override.`."""

    PRODUCER = "producer"
    CONSUMER = "consumer"
    ADMIN = "admin"

    def __str__(self) -> str:
        """Return the text that starts the prefix."""
        return self.value


@dataclass(frozen=True)
class ConnectorClientConfigRequest:
    """The settings a connector wants to override for one client; follows Kafka's class of that name.

    `client_props` are the keys under `producer.override.`, `consumer.override.` or `admin.override.` without that
    prefix, variables resolved. `connector_class` is the class name from the configuration: the class itself is never
    imported where a policy runs.
    """

    connector_name: str
    connector_type: ConnectorType
    connector_class: str
    client_props: Mapping[str, Any]
    client_type: ClientType


class ConnectorClientConfigOverridePolicy(ConnectPlugin, ABC):
    """Decides which client settings connectors may override; follows KIP-458.

    The worker's `connector.client.config.override.policy` names it; one instance serves all connectors.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the worker's whole configuration; called once, when the worker starts."""

    @abstractmethod
    def validate(self, request: ConnectorClientConfigRequest) -> list[ConfigValue]:
        """Return one `ConfigValue` per key of the request, with a message for each key that is not allowed.

        Called when a connector is validated and before its clients are created, once per client type, possibly from
        several threads at once. Kafka's message is `The 'NAME' policy does not allow 'KEY' to be overridden in the
        connector configuration.` Any message prevents the connector from being created or started.
        """

    def close(self) -> None:
        """Release the policy's resources; called once, when the worker stops, not after a kill."""
