"""The keys that transformations and predicates add to a connector's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.discovery import Plugin, PluginType
from hearth.herder.definition import INTERFACES, DefinitionMaker
from hearth.herder.description import Describer
from hearth.herder.plugin import PluginDirectory
from hearth.runtime.config.connector import PREDICATES, TRANSFORMS
from hearth_api import ConfigDef, ConfigError, ConfigKey, ConfigType, ConnectError, Importance, Width
from hearth_api.config import parse_type


@dataclass(frozen=True)
class Kind:
    """What sets transformations and predicates apart: where they are listed and what they are."""

    listed_in: str
    group: str
    type: PluginType

    @property
    def interface(self) -> str:
        """Return Kafka's name of what such a plugin implements."""
        return INTERFACES[self.type]


KINDS = (
    Kind("transforms", TRANSFORMS, PluginType.TRANSFORMATION),
    Kind("predicates", PREDICATES, PluginType.PREDICATE),
)


class Enrichment:
    """Adds keys for every alias a configuration lists: its class, its version and what that class has."""

    def __init__(self, directory: PluginDirectory, maker: DefinitionMaker, describer: Describer) -> None:
        self._directory = directory
        self._maker = maker
        self._describer = describer

    def add_to(self, definition: ConfigDef, config: Mapping[str, str | None]) -> None:
        """Add the keys of all transformations and predicates of a configuration."""
        for kind in KINDS:
            aliases = parse_type(kind.listed_in, config.get(kind.listed_in), ConfigType.LIST) or []
            for alias in dict.fromkeys(aliases):
                self._add_alias(definition, kind, alias, config)

    def _add_alias(self, definition: ConfigDef, kind: Kind, alias: str, config: Mapping[str, str | None]) -> None:
        prefix, group = f"{kind.listed_in}.{alias}.", f"{kind.group}: {alias}"
        class_name = self._maker.resolved(config.get(prefix + "type"))
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
                **self._maker.class_parts(kind.type, lambda: _check_negation(prefix, config)),
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
                **self._version_parts(class_name, kind.type),
            )
        )
        own = self._own_keys(kind, class_name, config.get(prefix + "plugin.version"))
        if own is not None:
            definition.embed(prefix, group, 2, own)

    def _version_parts(self, class_name: str | None, type_: PluginType) -> dict[str, Any]:
        parts = self._maker.version_parts(class_name, type_)
        # Kafka Connect shows this key in any case, unlike those of the converters.
        return {**parts, "recommender": parts["recommender"].shown()}

    def _own_keys(self, kind: Kind, class_name: str | None, version: str | None) -> ConfigDef | None:
        """Return the keys of a class and those all of its kind have, None for a class that is not there."""
        try:
            plugin: Plugin = self._directory.plugin(class_name or "", version, kind.type)
            own = self._describer.definition(plugin)
        except ConnectError:
            return None  # the check of the class or version key says why
        keys = ConfigDef()
        if kind.type is PluginType.TRANSFORMATION:
            keys.define("predicate", ConfigType.STRING, None, doc=_PREDICATE_DOC)
            keys.define("negate", ConfigType.BOOLEAN, False, doc=_NEGATE_DOC)
        for key in own.keys.values():
            if key.name not in keys.keys:
                keys.add(key)
        return keys


_PREDICATE_DOC = "The alias of a predicate: only records it accepts are transformed."
_NEGATE_DOC = "Whether only records the predicate does not accept are transformed."


def _check_negation(prefix: str, config: Mapping[str, str | None]) -> None:
    if prefix + "negate" in config and prefix + "predicate" not in config:
        raise ConfigError(
            f"Config '{prefix}negate' was provided but there is no config '{prefix}predicate' "
            "defining a predicate to be negated."
        )
