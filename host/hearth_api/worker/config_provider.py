"""Config providers: they fill the variables of a configuration, `${provider:path:key}`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hearth_api.plugin import ConnectPlugin


@dataclass(frozen=True)
class ConfigData:
    """What a provider answers, follows Kafka's `ConfigData`.

    `data` holds the values found, a missing key was not found. `ttl` is for how many milliseconds they
    are valid; `None` means until further notice. When it ends, connectors that use the values are
    restarted, unless their `config.action.reload` is `none`.
    """

    data: Mapping[str, str]
    ttl: int | None = None


class ConfigProvider(ConnectPlugin, ABC):
    """Looks up values, mostly secrets, when a configuration is used, follows Kafka's `ConfigProvider`.

    Named by the worker's `config.providers`; one instance serves all connectors of a worker. Only what
    it returns is replaced, once and without looking for variables in the answer; configurations are
    stored and shown unresolved.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the settings below `config.providers.NAME.param.`; called once, when the worker starts.

        An exception keeps the worker from starting.
        """

    @abstractmethod
    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the values of `keys` at `path`, or all values there when `keys` is `None`.

        Called whenever a configuration is validated and whenever a connector or task starts, once for what
        starts together, possibly by several threads at once. `path` is the empty text for
        `${provider:key}`. Keys that are not found are left out: their variables stay as they are. Raise
        `ConfigError` when the path may not or cannot be read. The host keeps no answer for another start.
        """

    def close(self) -> None:
        """Release what the provider holds; called once, when the worker stops, not after a kill."""
