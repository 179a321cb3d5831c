"""The keys that transformations and predicates add to a connector's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.config.connector_key import PREDICATES, TRANSFORMS
from hearth.discovery import PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.validation.framework_definition import INTERFACES, DefinitionMaker
from hearth.herder.validation.plugin_validator import PluginValidator, ValidatedPlugin
from hearth_api import (
    ConfigDef,
    ConfigError,
    ConfigKey,
    ConfigType,
    ConfigValue,
    ConnectError,
    Importance,
    NotFoundError,
    Width,
)
from hearth_api.java import parse_type


@dataclass(frozen=True)
class Kind:
    """The differences between transformations and predicates: the key that lists them and the plugin type."""

    listed_in: str
    group: str
    type: PluginType

    @property
    def interface(self) -> str:
        """Return Kafka's name of the interface of such plugins."""
        return INTERFACES[self.type]


KINDS = (
    Kind("transforms", TRANSFORMS, PluginType.TRANSFORMATION),
    Kind("predicates", PREDICATES, PluginType.PREDICATE),
)


class AliasKeys:
    """Adds the keys of every alias in a configuration: its class, its version and the class's own keys."""

    def __init__(
        self,
        directory: PluginDirectory,
        maker: DefinitionMaker,
        plugins: PluginValidator,
        config: Mapping[str, str | None],
    ) -> None:
        self._directory = directory
        self._maker = maker
        self._plugins = plugins
        self._config = config

    def add_to(self, definition: ConfigDef) -> dict[str, ConfigValue]:
        """Add the keys of all transformations and predicates; return the values that their plugins validated."""
        values: dict[str, ConfigValue] = {}
        for kind in KINDS:
            aliases = parse_type(kind.listed_in, self._config.get(kind.listed_in), ConfigType.LIST) or []
            for alias in dict.fromkeys(aliases):
                values.update(self._add_alias(definition, kind, alias))
        return values

    def _add_alias(self, definition: ConfigDef, kind: Kind, alias: str) -> dict[str, ConfigValue]:
        prefix, group = f"{kind.listed_in}.{alias}.", f"{kind.group}: {alias}"
        given = self._config.get(prefix + "type")
        class_name = self._maker.resolved(given)
        validated = self._validated(kind, prefix, class_name)
        word = kind.interface.lower()
        definition.add(
            ConfigKey(
                prefix + "type",
                ConfigType.CLASS,
                importance=Importance.HIGH,
                doc=f"The {word} that {alias!r} stands for: its full class name, or an alias.",
                group=group,
                order_in_group=0,
                width=Width.LONG,
                display_name=f"{kind.interface} type for {alias}",
                **self._maker.class_parts(kind.type, lambda: _check(prefix, self._config, validated)),
            )
        )
        definition.add(
            ConfigKey(
                prefix + "plugin.version",
                ConfigType.STRING,
                importance=Importance.HIGH,
                doc=f"Which version of the {word} {alias!r} to use; the newest unless given.",
                group=group,
                order_in_group=1,
                width=Width.LONG,
                display_name=f"{kind.interface} version for {alias}",
                **self._version_parts(given, kind.type),
            )
        )
        if not isinstance(validated, ValidatedPlugin):
            return {}
        keys = _shared_keys(kind)
        listed = validated.definition.listed(self._config, prefix)
        mine = [key for key in listed.keys.values() if key.name not in keys.keys]
        for key in mine:
            keys.add(key)
        definition.embed(prefix, group, 2, keys)
        names = [prefix + key.name for key in mine]
        return {name: validated.checked[name] for name in names if name in validated.checked}

    def _version_parts(self, name: str | None, type_: PluginType) -> dict[str, Any]:
        parts = self._maker.version_parts(name, type_, name)
        # Kafka Connect always shows this key, unlike those of the converters.
        return {**parts, "recommender": parts["recommender"].shown()}

    def _validated(self, kind: Kind, prefix: str, class_name: str | None) -> ValidatedPlugin | ConfigError | None:
        """Return a class's validation of its settings, or its error; None for an unknown class."""
        try:
            version = self._config.get(prefix + "plugin.version")
            plugin = self._directory.plugin(class_name or "", version, kind.type)
        except (ConfigError, NotFoundError):
            return None  # the check of the class or version key reports it
        try:
            return self._plugins.validate(plugin, self._config, prefix)
        except ConnectError as error:
            reason = f"Error getting config definition from {kind.interface}: {error}"
            return ConfigError(prefix + "type", f"class {class_name}", reason)


def _shared_keys(kind: Kind) -> ConfigDef:
    """Return the keys that all plugins of a kind share."""
    keys = ConfigDef()
    if kind.type is PluginType.TRANSFORMATION:
        keys.define("predicate", ConfigType.STRING, None, doc=_PREDICATE_DOC)
        keys.define("negate", ConfigType.BOOLEAN, False, doc=_NEGATE_DOC)
    return keys


_PREDICATE_DOC = "The alias of a predicate: only records it accepts are transformed."
_NEGATE_DOC = "Whether only records the predicate does not accept are transformed."


def _check(prefix: str, config: Mapping[str, str | None], validated: ValidatedPlugin | ConfigError | None) -> None:
    """Report a negation without a predicate, and a class that failed to define its keys, at the class key."""
    if prefix + "negate" in config and prefix + "predicate" not in config:
        raise ConfigError(
            f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate' "
            "defining a predicate to be negated."
        )
    if isinstance(validated, ConfigError):
        raise validated
