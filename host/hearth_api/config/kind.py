"""Enumerations that describe a configuration key."""

from __future__ import annotations

from enum import Enum


class ConfigType(str, Enum):
    """The type of a key's value; follows Kafka's `ConfigDef.Type`.

    Python values after parsing: BOOLEAN bool; STRING str; SHORT, INT and LONG int within 16, 32 and 64 bits; DOUBLE
    float; LIST list of str; CLASS the resolver's result, or the text without a resolver; PASSWORD `Password`.
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
        """Return the name that REST and messages show."""
        return self.value


class Importance(str, Enum):
    """How much a key matters to users; forms and documentation show HIGH first."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"

    def __str__(self) -> str:
        """Return the name that REST shows."""
        return self.value


class Width(str, Enum):
    """The width of the key's input field in forms."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"

    def __str__(self) -> str:
        """Return the name that REST shows."""
        return self.value
