"""One key of a configuration definition, with its validator and recommender."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth_api.config.kind import ConfigType, Importance, Width
from hearth_api.config.parser import ClassResolver, parse_type


class _NoDefault:
    """The type of `NO_DEFAULT`, for a readable repr."""

    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Any = _NoDefault()
"""Marks a required key; `None` is an ordinary default."""


class Validator(ABC):
    """Checks the value of one key; follows Kafka's `ConfigDef.Validator`.

    Must be stateless: one instance serves all validations, from any thread. `str()` of it describes the accepted
    values and is shown in documentation.
    """

    @abstractmethod
    def ensure_valid(self, name: str, value: Any) -> None:
        """Raise `ConfigError(name, value, message)` unless the value is acceptable.

        Called with the parsed value whenever the key is parsed or validated, with the default when the key is defined
        or omitted, and with `None` when parsing failed or a required key is missing: decide whether `None` is an
        error. Other exceptions abort the whole validation.
        """


class Recommender(ABC):
    """Suggests values and decides visibility; follows Kafka's `ConfigDef.Recommender`.

    Called only during validation, after all values are parsed, once per path of dependents that leads to the key.
    """

    @abstractmethod
    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        """Return suggestions of the key's type; other values are not errors.

        `parsed_config` holds every key reached, `None` where parsing failed. A `ConfigError` is added to the key's
        messages.
        """

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        """Return whether forms show the key, given the other values; true by default."""
        return True


@dataclass(frozen=True)
class ConfigKey:
    """The declaration of one key; follows Kafka's `ConfigDef.ConfigKey`.

    The default is parsed and validated here, so an invalid one raises `ConfigError` when the key is defined. An
    `unlisted` key is known and checked, but REST shows it only in configurations that use it: use it for keys that a
    plugin adds to the Kafka Connect class whose name it has.
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
        """Set the default display name; parse and check the default."""
        object.__setattr__(self, "display_name", self.display_name or self.name)
        object.__setattr__(self, "dependents", tuple(self.dependents))
        if self.has_default:
            object.__setattr__(self, "default", self.parse(self.default))
            self.check(self.default)

    @property
    def has_default(self) -> bool:
        """Return whether the key may be omitted."""
        return self.default is not NO_DEFAULT

    def parse(self, value: Any) -> Any:
        """Return `value` as the key's type; raise `ConfigError` if that is not possible."""
        return parse_type(self.name, value, self.type, self.resolver)

    def check(self, value: Any) -> None:
        """Raise `ConfigError` if the key's validator rejects a parsed value."""
        if self.validator is not None:
            self.validator.ensure_valid(self.name, value)
