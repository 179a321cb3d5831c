"""Config providers resolve variables in a configuration, `${provider:path:key}`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hearth_api.plugin import ConnectPlugin


@dataclass(frozen=True)
class ConfigData:
    """The result of a provider; follows Kafka's `ConfigData`.

    `data` holds the values found, without missing keys. `ttl` is their validity in milliseconds; `None` means
    unlimited. When it expires, connectors that use the values restart, unless their `config.action.reload` is `none`.
    """

    data: Mapping[str, str]
    ttl: int | None = None


class ConfigProvider(ConnectPlugin, ABC):
    """Looks up values, mostly secrets, when a configuration is used; follows Kafka's `ConfigProvider`.

    The worker's `config.providers` names it; one instance serves all connectors of a worker. The result replaces the
    variable once and is not searched for variables; configurations are stored and shown unresolved.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the settings under `config.providers.NAME.param.`; called once, when the worker starts.

        An exception prevents the worker from starting.
        """

    @abstractmethod
    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the values of `keys` at `path`, or all values there if `keys` is `None`.

        Called whenever a configuration is validated and whenever connectors or tasks start, once for those that start
        together, possibly from several threads at once. `path` is the empty text for `${provider:key}`. Omit keys that
        are not found: their variables stay unresolved. Raise `ConfigError` if the path is forbidden or unreadable. The
        host does not cache the result for another start.
        """

    def close(self) -> None:
        """Release the provider's resources; called once, when the worker stops, not after a kill."""
