"""Masks literal passwords in configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.config.connector_key import CONNECTOR_CLASS, NAME
from hearth.config.variable import has_variable
from hearth_api import ConfigType, Password

HIDDEN = str(Password(""))
"""The text shown instead of every password."""
_OPEN = (NAME, CONNECTOR_CLASS)


class PasswordMask:
    """Masks the values of PASSWORD keys if the worker enables it, and restores them when a masked value is submitted.

    Validation, which a configuration passes before it is stored, determines the password keys. For a connector that
    was never validated on this host, all values except name and class are masked. Variables are not masked.
    Thread-safe.
    """

    def __init__(self, is_on: bool) -> None:
        self._is_on = is_on
        self._names: dict[str, frozenset[str]] = {}

    def learn(self, connector: str, result: Mapping[str, Any]) -> None:
        """Add the password keys of a ConfigInfos to those known for the connector."""
        if self._is_on:
            keys = (info["definition"] for info in result["configs"] if info["definition"])
            found = {key["name"] for key in keys if key["type"] == ConfigType.PASSWORD}
            self._names[connector] = self._names.get(connector, frozenset()) | found

    def forget(self, connector: str) -> None:
        """Discard the keys of a deleted connector."""
        self._names.pop(connector, None)

    def shown(self, connector: str, config: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration of the connector, or of one of its tasks, with its passwords masked."""
        return {name: HIDDEN if self._hides(connector, name, value) else value for name, value in config.items()}

    def unmasked(self, connector: str, given: Mapping[str, Any], stored: Mapping[str, str]) -> Mapping[str, Any]:
        """Return a submitted configuration with masked values replaced by the stored passwords."""
        return {
            name: stored[name] if value == HIDDEN and self._hides(connector, name, stored.get(name)) else value
            for name, value in given.items()
        }

    def _hides(self, connector: str, name: str, value: str | None) -> bool:
        if not self._is_on or value is None or has_variable(value):
            return False
        known = self._names.get(connector)
        return name not in _OPEN if known is None else name in known
