"""Configuration definitions: a set of keys that parses and validates configurations."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hearth_api.config.check import validate_all
from hearth_api.config.config_key import NO_DEFAULT, ConfigKey, Recommender, Validator
from hearth_api.config.kind import ConfigType, Importance, Width
from hearth_api.config.parser import ClassResolver
from hearth_api.config.validator import ValidList
from hearth_api.config.value import ConfigValue
from hearth_api.errors import ConfigError

log = logging.getLogger(__name__)


class ConfigDef:
    """The keys a plugin understands, in the order of definition; follows Kafka's `ConfigDef`.

    Build it once, then share it: parsing and validating do not change it and may run on any thread. `class_resolver`
    resolves the text of CLASS keys; plugins omit it and receive the text.
    """

    def __init__(self, class_resolver: ClassResolver | None = None) -> None:
        """Start without keys."""
        self._keys: dict[str, ConfigKey] = {}
        self._groups: list[str] = []
        self._class_resolver = class_resolver

    def define(
        self,
        name: str,
        type: ConfigType,  # noqa: A002 - the word Kafka's authors know
        default: Any = NO_DEFAULT,
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        doc: str = "",
        group: str | None = None,
        order_in_group: int = -1,
        width: Width = Width.NONE,
        display_name: str = "",
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
        unlisted: bool = False,
    ) -> ConfigDef:
        """Add a key and return this definition, for chaining.

        Without `default` the key is required; `default` may be text or a typed value and is parsed and checked at
        once. `dependents` are the keys whose suggestions and visibility depend on this one. `display_name` defaults to
        the key. An `unlisted` key is shown only if it is used (see `listed`). Raises `ConfigError` if the key already
        exists or its default is invalid.
        """
        return self.add(
            ConfigKey(
                name, type, default, validator, importance, doc, group, order_in_group, width, display_name,
                tuple(dependents), recommender, self._class_resolver, unlisted,
            )
        )  # fmt: skip

    def add(self, key: ConfigKey) -> ConfigDef:
        """Add a `ConfigKey`, for definitions composed of others; see `define`."""
        if key.name in self._keys:
            raise ConfigError(f"Configuration {key.name} is defined twice.")
        if key.group is not None and key.group not in self._groups:
            self._groups.append(key.group)
        self._keys[key.name] = key
        return self

    @property
    def keys(self) -> Mapping[str, ConfigKey]:
        """Return the keys by name, in the order of definition."""
        return self._keys

    def listed(self, props: Mapping[str, Any] | None = None, prefix: str = "") -> ConfigDef:
        """Return the definition without the unlisted keys that the given settings, under a prefix, do not use."""
        definition = ConfigDef(self._class_resolver)
        for key in self._keys.values():
            if not key.unlisted or (props is not None and prefix + key.name in props):
                definition.add(key)
        return definition

    @property
    def names(self) -> list[str]:
        """Return the names of all keys, in the order of definition."""
        return list(self._keys)

    @property
    def groups(self) -> list[str]:
        """Return the groups in the order of their first key."""
        return list(self._groups)

    @property
    def default_values(self) -> dict[str, Any]:
        """Return the parsed defaults of all keys that have one."""
        return {key.name: key.default for key in self._keys.values() if key.has_default}

    def parse(self, props: Mapping[str, Any]) -> dict[str, Any]:
        """Return the typed value of every key, or raise `ConfigError` for the first invalid one.

        For `start` and `configure`. Undefined keys are ignored. Values may be text or already typed.
        """
        undefined = self.undefined_dependents()
        if undefined:
            names = ",".join(undefined)
            raise ConfigError(f"Some configurations in are referred in the dependents, but not defined: {names}")
        return {name: _parsed(key, props) for name, key in self._keys.items()}

    def validate(self, props: Mapping[str, str]) -> list[ConfigValue]:
        """Return one `ConfigValue` per key with all its errors; invalid values do not raise.

        For responses to users. Keys that can only be reached through a circle of dependents are skipped, as in Kafka.
        """
        return list(self.validate_all(props).values())

    def validate_all(self, props: Mapping[str, str]) -> dict[str, ConfigValue]:
        """Return the results of `validate` by name."""
        return validate_all(self.keys, self.undefined_dependents(), props)

    def undefined_dependents(self) -> list[str]:
        """Return dependents that are named but never defined, a mistake of the author."""
        named = dict.fromkeys(name for key in self._keys.values() for name in key.dependents)
        return [name for name in named if name not in self._keys]

    def sorted_keys(self) -> list[ConfigKey]:
        """Return the keys in the order of documentation: by group and order, required ones first."""
        ranks = {group: rank for rank, group in enumerate(self._groups)}
        levels = list(Importance)
        return sorted(
            self._keys.values(),
            key=lambda key: (
                -1 if key.group is None else ranks[key.group],
                key.order_in_group,
                key.has_default,
                levels.index(key.importance),
                key.name,
            ),
        )

    def embed(self, key_prefix: str, group: str, first_order: int, child: ConfigDef) -> None:
        """Add all keys of `child` under a prefix and in a group, numbered from `first_order`.

        For plugin keys inside another configuration, such as `transforms.ALIAS.`. The child's validators and
        recommenders still see the short names, so their messages name these, as Kafka's do.
        """
        for order, key in enumerate(child.sorted_keys(), first_order):
            self.add(
                replace(
                    key,
                    name=key_prefix + key.name,
                    group=group if key.group is None else f"{group}: {key.group}",
                    order_in_group=order,
                    validator=key.validator and _EmbeddedValidator(key_prefix, key.validator),
                    dependents=tuple(key_prefix + name for name in key.dependents),
                    recommender=key.recommender and _EmbeddedRecommender(key_prefix, key.recommender),
                )
            )


def _parsed(key: ConfigKey, props: Mapping[str, Any]) -> Any:
    if key.name in props:
        value = key.parse(props[key.name])
    elif key.has_default:
        value = key.default
    else:
        raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
    if isinstance(key.validator, ValidList) and isinstance(value, list):
        value = _without_duplicates(key.name, value)
    key.check(value)
    return value


def _without_duplicates(name: str, items: list[Any]) -> list[Any]:
    distinct = list(dict.fromkeys(items))
    if len(distinct) != len(items):
        log.warning("key %r lists values twice: %r is taken as %r", name, items, distinct)
    return distinct


class _EmbeddedValidator(Validator):
    """Passes the short name to a child's validator."""

    def __init__(self, prefix: str, inner: Validator) -> None:
        self._prefix = prefix
        self._inner = inner

    def ensure_valid(self, name: str, value: Any) -> None:
        self._inner.ensure_valid(name[len(self._prefix) :], value)

    def __str__(self) -> str:
        return str(self._inner)


class _EmbeddedRecommender(Recommender):
    """Passes only the child's keys to its recommender, by their short names."""

    def __init__(self, prefix: str, inner: Recommender) -> None:
        self._prefix = prefix
        self._inner = inner

    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        return self._inner.valid_values(name[len(self._prefix) :], self._own(parsed_config))

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        return self._inner.visible(name[len(self._prefix) :], self._own(parsed_config))

    def _own(self, parsed_config: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name[len(self._prefix) :]: value for name, value in parsed_config.items() if name.startswith(self._prefix)
        }
