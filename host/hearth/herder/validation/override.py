"""Which settings of Kafka clients a connector may override: Kafka Connect's four policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hearth.config import WorkerConfig
from hearth_api import ConfigError, ConfigType, ConfigValue
from hearth_api.java import parse_type

POLICY = "connector.client.config.override.policy"
ALLOWLIST = "connector.client.config.override.allowlist"
_PRINCIPAL_KEYS = ("sasl.jaas.config", "sasl.mechanism", "security.protocol")
_PACKAGE = "org.apache.kafka.connect.connector.policy."
_SUFFIX = "ConnectorClientConfigOverridePolicy"


class OverridePolicy:
    """One of Kafka Connect's policies, by its alias or class name."""

    def __init__(self, worker: WorkerConfig) -> None:
        given = str(worker.parsed[POLICY])
        self.name = given.removeprefix(_PACKAGE).removesuffix(_SUFFIX)
        listed = parse_type(ALLOWLIST, worker.originals.get(ALLOWLIST, ""), ConfigType.LIST)
        allowed: dict[str, Callable[[str], bool]] = {
            "All": lambda key: True,
            "None": lambda key: False,
            "Principal": lambda key: key in _PRINCIPAL_KEYS,
            "Allowlist": lambda key: key in listed,
        }
        if self.name not in allowed:
            raise ConfigError(
                f"{POLICY}={given!r} is not known here",
                code="policy.unknown",
                hint=f"use one of {', '.join(allowed)}",
            )
        self._allows = allowed[self.name]

    def validate(self, overrides: Mapping[str, str | None]) -> list[ConfigValue]:
        """Return one value per override, with a complaint where it is not allowed."""
        return [self._value(key, value) for key, value in overrides.items()]

    def _value(self, key: str, value: str | None) -> ConfigValue:
        outcome = ConfigValue(key, value)
        if not self._allows(key):
            outcome.add_error_message(
                f"The '{self.name}' policy does not allow '{key}' to be overridden in the connector configuration."
            )
        return outcome
