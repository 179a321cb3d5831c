"""Values from a properties file, like Kafka's `FileConfigProvider`."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from hearth_api import ConfigDef, ConfigError
from hearth_api.java import parse_properties
from hearth_api.worker import ConfigData, ConfigProvider
from hearth_providers.allowed_path import AllowedPaths, definition

log = logging.getLogger(__name__)


class FileConfigProvider(ConfigProvider):
    """Resolves `${NAME:/path/of/a.properties:key}`; the file is UTF-8 and is read on each call."""

    def config(self) -> ConfigDef:
        """Return the definition of `allowed.paths`."""
        return definition()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure `allowed.paths`."""
        self._paths = AllowedPaths(configs)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the values of the keys in the file; nothing if the path is empty or not allowed."""
        if not path:
            return ConfigData({})
        allowed = self._paths.allowed(path)
        if allowed is None:
            log.warning("The path %s is not allowed to be accessed", path)
            return ConfigData({})
        entries = _entries(path, allowed)
        return ConfigData({key: value for key, value in entries.items() if keys is None or key in keys})


def _entries(path: str, allowed: str) -> dict[str, str]:
    try:
        with open(allowed, encoding="utf-8-sig") as file:
            return parse_properties(file.read(), path)
    except (OSError, ValueError, ConfigError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"Could not read properties from file {path}", hint=reason) from error
