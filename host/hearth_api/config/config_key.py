"""One key of a configuration definition, and the two hooks that look at its value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth_api.config.kind import ConfigType, Importance, Width
from hearth_api.config.parser import ClassResolver, parse_type


class _NoDefault:
    """The type of `NO_DEFAULT`, so that it prints well."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Any = _NoDefault()
"""Stands for "required": `None` is a default like any other."""


class Validator(ABC):
    """Checks the value of one key, follows Kafka's `ConfigDef.Validator`.

    Must be stateless: one instance serves all validations, from any thread. `str()` of it describes what
    is acceptable and is shown in documentation.
    """

    @abstractmethod
    def ensure_valid(self, name: str, value: Any) -> None:
        """Raise `ConfigError(name, value, message)` unless the value is acceptable.

        Called with the parsed value whenever the key is parsed or validated, with the default when the
        key is defined or left out, and with `None` when parsing failed or a required key is missing: say
        whether `None` is wrong. Other exceptions abort the whole validation.
        """


class Recommender(ABC):
    """Suggests values and decides visibility, follows Kafka's `ConfigDef.Recommender`.

    Called during validation only, after all values were parsed, once per path of dependents that leads
    to the key.
    """

    @abstractmethod
    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        """Return suggestions of the key's type; a value outside them is not an error.

        `parsed_config` holds every key that was reached, `None` where parsing failed. A `ConfigError` is
        added to the key's messages.
        """

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        """Return whether forms show the key, given the other values; true unless overridden."""
        return True


@dataclass(frozen=True)
class ConfigKey:
    """All that is declared about one key, follows Kafka's `ConfigDef.ConfigKey`.

    The default is parsed and validated here, so a wrong one raises `ConfigError` when the key is
    defined. An `unlisted` key is known and checked, and REST shows it to those alone who use it: what a
    plugin has beyond the class of Kafka Connect whose name it carries.
    """

    name: str
    type: ConfigType
    default: Any = NO_DEFAULT
    validator: Validator | None = None
    importance: Importance = Importance.MEDIUM
    doc: str = ""
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str = ""
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None
    resolver: ClassResolver | None = field(default=None, compare=False, repr=False)
    unlisted: bool = False

    def __post_init__(self) -> None:
        """Fill in the display name, parse and check the default."""
        object.__setattr__(self, "display_name", self.display_name or self.name)
        object.__setattr__(self, "dependents", tuple(self.dependents))
        if self.has_default:
            object.__setattr__(self, "default", self.parse(self.default))
            self.check(self.default)

    @property
    def has_default(self) -> bool:
        """Return whether the key may be left out."""
        return self.default is not NO_DEFAULT

    def parse(self, value: Any) -> Any:
        """Return `value` as the key's type; `ConfigError` when that is not possible."""
        return parse_type(self.name, value, self.type, self.resolver)

    def check(self, value: Any) -> None:
        """Raise `ConfigError` when the key's validator objects to a parsed value."""
        if self.validator is not None:
            self.validator.ensure_valid(self.name, value)
