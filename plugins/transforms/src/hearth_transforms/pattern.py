"""Regular expressions in settings."""

from __future__ import annotations

from typing import Any

from hearth_api import ConfigError, PatternError, Validator, compile_pattern


class ValidPattern(Validator):
    """Accepts regular expressions as Java writes them."""

    def ensure_valid(self, name: str, value: Any) -> None:
        """Reject what is none, with Java's message."""
        if value is None:
            message = 'Cannot invoke "String.isEmpty()" because "this.pattern" is null'
            raise ConfigError(name, value, f"Invalid regex: {message}")
        try:
            compile_pattern(value)
        except PatternError as error:
            raise ConfigError(name, value, f"Invalid regex: {error}") from error

    def __str__(self) -> str:
        """Return Kafka's description."""
        return "valid regex"
