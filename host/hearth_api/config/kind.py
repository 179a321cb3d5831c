"""The small closed sets a configuration key is described with."""

from __future__ import annotations

from enum import Enum


class ConfigType(str, Enum):
    """The type of a key's value, follows Kafka's `ConfigDef.Type`.

    Python values after parsing: BOOLEAN bool; STRING str; SHORT, INT and LONG int within 16, 32 and 64
    bits; DOUBLE float; LIST list of str; CLASS what the resolver returns, or the text without one;
    PASSWORD `Password`.
    """

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type

    def __str__(self) -> str:
        """Return the name as REST and messages show it."""
        return self.value


class Importance(str, Enum):
    """How much a key matters to users; forms and documentation show HIGH first."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"

    def __str__(self) -> str:
        """Return the name as REST shows it."""
        return self.value


class Width(str, Enum):
    """How wide a form shows the value of a key."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"

    def __str__(self) -> str:
        """Return the name as REST shows it."""
        return self.value
