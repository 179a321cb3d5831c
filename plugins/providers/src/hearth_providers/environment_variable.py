"""Values from the host's environment, like Kafka's `EnvVarConfigProvider`."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

from hearth_api import ConfigDef, ConfigError, ConfigType
from hearth_api.java import compile_pattern
from hearth_api.worker import ConfigData, ConfigProvider

KEY = "allowlist.pattern"
DOC = "A regular expression: only variables whose whole name it matches are read. All by default."


class EnvVarConfigProvider(ConfigProvider):
    """Resolves `${NAME:VARIABLE}` to the variable's value at the start of the host."""

    def config(self) -> ConfigDef:
        """Return the definition of `allowlist.pattern`."""
        return ConfigDef().define(KEY, ConfigType.STRING, ".*", doc=DOC)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Keep the variables whose names match the pattern."""
        pattern = compile_pattern(str(configs.get(KEY, ".*")))
        self._variables = {name: value for name, value in os.environ.items() if pattern.fullmatch(name)}

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the values of variables; raise `ConfigError` for a path, which this provider does not support."""
        if path:
            raise ConfigError(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        found = self._variables.items()
        return ConfigData({name: value for name, value in found if keys is None or name in keys})
