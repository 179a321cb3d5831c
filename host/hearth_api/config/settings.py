"""Declares a configuration definition as a class whose attributes are the keys."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Union

from hearth_api.config.config_key import NO_DEFAULT, Recommender, Validator
from hearth_api.config.definition import ConfigDef
from hearth_api.config.kind import ConfigType, Importance, Width
from hearth_api.config.password import Password

_UNIONS = (Union, types.UnionType)  # Optional[str] and str | None
_TYPES: dict[Any, ConfigType] = {
    bool: ConfigType.BOOLEAN,
    str: ConfigType.STRING,
    int: ConfigType.INT,
    float: ConfigType.DOUBLE,
    list: ConfigType.LIST,
    type: ConfigType.CLASS,
    Password: ConfigType.PASSWORD,
}


class _Key:
    """One declared key: returns its parsed value from an instance, and defines itself from its annotation."""

    def __init__(self, name: str, kind: ConfigType | None, declared: dict[str, Any]) -> None:
        self.name = name
        self.kind = kind
        self.declared = declared

    def __get__(self, instance: Settings | None, owner: type) -> Any:
        return self if instance is None else instance.parsed[self.name]

    def __set__(self, instance: Settings, value: Any) -> None:
        raise AttributeError(f"setting {self.name!r} cannot be changed")

    def define(self, definition: ConfigDef, annotation: Any) -> None:
        definition.define(self.name, self.kind or _kind(self.name, annotation), **self.declared)


def key(
    name: str,
    *,
    default: Any = NO_DEFAULT,
    check: Validator | None = None,
    importance: Importance = Importance.MEDIUM,
    doc: str = "",
    type: ConfigType | None = None,  # noqa: A002 - the word Kafka's authors know
    group: str | None = None,
    order_in_group: int = -1,
    width: Width = Width.NONE,
    display_name: str = "",
    dependents: Iterable[str] = (),
    recommender: Recommender | None = None,
    unlisted: bool = False,
) -> Any:
    """Declare one key of a `Settings` class; the arguments are those of `ConfigDef.define`.

    The annotation determines the type (bool, str, int, float, list, `Password`, each optionally with `| None`); pass
    `type` for SHORT, LONG and CLASS. `check` is the validator.
    """
    declared = {
        "default": default, "validator": check, "importance": importance, "doc": doc, "group": group,
        "order_in_group": order_in_group, "width": width, "display_name": display_name,
        "dependents": tuple(dependents), "recommender": recommender, "unlisted": unlisted,
    }  # fmt: skip
    return _Key(name, type, declared)


class Settings:
    """The settings of a plugin, each declared once.

    Parsing, validation, REST, documentation and the typed attribute all use that declaration::

        class LineSourceSettings(Settings):
            topic: str = key("topic", check=NonEmptyString(), doc="Where lines go.")
            batch_size: int = key("batch.size", default=2000, doc="Most lines per poll.")

    A plugin's `config` returns `definition()`; `LineSourceSettings(props)` parses a configuration for
    `settings.batch_size`. A subclass inherits the keys, which precede its own. Instances are immutable and may be
    shared between threads; printing one hides passwords.
    """

    _definition: ClassVar[ConfigDef | None] = None

    def __init__(self, props: Mapping[str, Any]) -> None:
        """Parse `props`; the first invalid value raises `ConfigError`, undeclared keys are ignored."""
        self.originals: Mapping[str, Any] = dict(props)
        self.parsed: Mapping[str, Any] = self.definition().parse(props)

    @classmethod
    def definition(cls) -> ConfigDef:
        """Return the definition of the declared keys; cached per class, so do not add to it."""
        cached: ConfigDef | None = cls.__dict__.get("_definition")
        if cached is None:
            cached = cls._definition = _define(cls)
        return cached

    def with_prefix(self, prefix: str) -> dict[str, Any]:
        """Return the unparsed keys under `prefix`, without it, for the settings of components."""
        given = self.originals.items()
        return {name[len(prefix) :]: value for name, value in given if name.startswith(prefix)}

    def __repr__(self) -> str:
        """Return the parsed values with passwords hidden."""
        return f"{type(self).__qualname__}({self.parsed!r})"


def _define(cls: type[Settings]) -> ConfigDef:
    definition = ConfigDef()
    hints = typing.get_type_hints(cls)
    declared: dict[str, _Key] = {}
    for base in reversed(cls.__mro__):
        declared.update((attribute, each) for attribute, each in vars(base).items() if isinstance(each, _Key))
    for attribute, each in declared.items():
        each.define(definition, hints.get(attribute))
    return definition


def _kind(name: str, annotation: Any) -> ConfigType:
    if typing.get_origin(annotation) in _UNIONS:
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        annotation = members[0] if len(members) == 1 else None
    kind = _TYPES.get(typing.get_origin(annotation) or annotation)
    if kind is None:
        raise TypeError(f"key {name!r} is annotated {annotation!r}, which has no ConfigType: pass type=")
    return kind
