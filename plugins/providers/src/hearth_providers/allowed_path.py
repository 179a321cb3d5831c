"""Restricts the paths that a provider may read, like Kafka's `AllowedPaths`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from hearth_api import ConfigDef, ConfigError, ConfigType

KEY = "allowed.paths"
DOC = "Absolute paths, separated by commas without blanks: nothing else is read. All paths by default."


def definition() -> ConfigDef:
    """Return the definition of a provider that has only this key."""
    return ConfigDef().define(KEY, ConfigType.STRING, None, doc=DOC)


class AllowedPaths:
    """The paths a provider may read, including everything below them; names are compared, links are followed."""

    def __init__(self, configs: Mapping[str, Any]) -> None:
        """Parse `allowed.paths`; raise `ConfigError` for a path that is not absolute or does not exist."""
        given = str(configs.get(KEY) or "")
        self._paths = [_checked(each) for each in given.rstrip(",").split(",")] if given else None

    def allowed(self, path: str) -> str | None:
        """Return the normalised path, or `None` if it is not allowed."""
        if self._paths is None:
            return path
        normal = PurePath(os.path.normpath(path))
        return str(normal) if any(normal.is_relative_to(each) for each in self._paths) else None


def _checked(given: str) -> PurePath:
    path = PurePath(os.path.normpath(given)) if given else PurePath("")
    if not path.is_absolute():
        raise ConfigError(f"Path {path if given else ''} is not absolute", hint=f"see {KEY} of the provider")
    if not os.path.exists(path):
        raise ConfigError(f"Path {path} does not exist", hint=f"see {KEY} of the provider")
    return path
