"""Passwords that stand literally in configurations, and are not to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hearth.config.connector_key import CONNECTOR_CLASS, NAME
from hearth.config.variable import has_variable
from hearth_api import ConfigType, Password

HIDDEN = str(Password(""))
"""What is shown of every password."""
_OPEN = (NAME, CONNECTOR_CLASS)


class PasswordMask:
    """Hides the values of PASSWORD keys where the worker wants that, and knows them again when they come back.

    Which keys are passwords says the validation that a configuration passes before it is stored; of a connector that
    was never validated here all values but its name and class are hidden. A variable is none and is shown. Safe to
    call from any thread.
    """

    def __init__(self, is_on: bool) -> None:
        self._is_on = is_on
        self._names: dict[str, frozenset[str]] = {}

    def learn(self, connector: str, result: Mapping[str, Any]) -> None:
        """Take the keys that a ConfigInfos defines as passwords; those known of the connector before stay."""
        if self._is_on:
            keys = (info["definition"] for info in result["configs"] if info["definition"])
            found = {key["name"] for key in keys if key["type"] == ConfigType.PASSWORD}
            self._names[connector] = self._names.get(connector, frozenset()) | found

    def forget(self, connector: str) -> None:
        """Forget a connector that was deleted."""
        self._names.pop(connector, None)

    def shown(self, connector: str, config: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration of the connector, or of one of its tasks, as users are shown it."""
        return {name: HIDDEN if self._hides(connector, name, value) else value for name, value in config.items()}

    def meant(self, connector: str, given: Mapping[str, Any], stored: Mapping[str, str]) -> Mapping[str, Any]:
        """Return what users mean who send back what they were shown: the passwords that are stored."""
        return {
            name: stored[name] if value == HIDDEN and self._hides(connector, name, stored.get(name)) else value
            for name, value in given.items()
        }

    def _hides(self, connector: str, name: str, value: str | None) -> bool:
        if not self._is_on or value is None or has_variable(value):
            return False
        known = self._names.get(connector)
        return name not in _OPEN if known is None else name in known
