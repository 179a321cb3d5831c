"""Values from a directory with one file for each key, like Kafka's `DirectoryConfigProvider`."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from typing import Any

from hearth_api import ConfigDef, ConfigError
from hearth_api.worker import ConfigData, ConfigProvider
from hearth_providers.allowed_path import AllowedPaths, definition

log = logging.getLogger(__name__)


class DirectoryConfigProvider(ConfigProvider):
    """Resolves `${NAME:/path/of/a/directory:file}` to the file's UTF-8 content, including a trailing line end."""

    def config(self) -> ConfigDef:
        """Return the definition of `allowed.paths`."""
        return definition()

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure `allowed.paths`."""
        self._paths = AllowedPaths(configs)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the contents of the named files; nothing if the path is not a directory or not allowed."""
        directory = self._paths.allowed(path) if path else ""
        if directory is None:
            log.warning("The path %s is not allowed to be accessed", path)
        elif directory and not os.path.isdir(directory):
            log.warning("The path %s is not a directory", path)
        elif directory:
            names = [name for name in _names(directory) if keys is None or name in keys]
            files = {name: os.path.join(directory, name) for name in names}
            return ConfigData({name: _read(file) for name, file in files.items() if os.path.isfile(file)})
        return ConfigData({})


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError as error:
        raise ConfigError(f"Could not list directory {directory}", hint=error.strerror) from error


def _read(file: str) -> str:
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            return opened.read()
    except (OSError, ValueError) as error:
        raise ConfigError(f"Could not read file {file} for property {os.path.basename(file)}") from error
