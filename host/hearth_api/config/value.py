"""Results of validating a configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class ConfigValue:
    """One key's value and its errors; follows Kafka's `ConfigValue`.

    `value` is the parsed value, `None` if parsing failed. `recommended_values` are suggestions for forms, not a
    restriction. `visible` tells forms whether to show the key; hidden keys are validated as well.
    """

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    error_messages: list[str] = field(default_factory=list)
    visible: bool = True

    def add_error_message(self, message: str) -> None:
        """Add a message for users; any message makes the configuration invalid."""
        self.error_messages.append(message)


@dataclass(frozen=True)
class Config:
    """The result of `Connector.validate`: one `ConfigValue` per key; follows Kafka's `Config`."""

    values: list[ConfigValue]

    def __getitem__(self, name: str) -> ConfigValue:
        """Return the value of one key, for checks across keys; raise `KeyError` if there is none."""
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(name)
