"""Defines a connector's framework keys, with defaults and recommended values from the host's plugins."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hearth.config import ConnectorConfig, SinkConnectorConfig, SourceConnectorConfig, WorkerConfig
from hearth.config.confinement_key import LimitConfig
from hearth.config.connector_key import CONNECTOR_CLASS, CONNECTOR_VERSION, CONVERTER_KEYS, VERSION_SUFFIX
from hearth.config.java_key import JavaConfig
from hearth.discovery import PluginType
from hearth.herder.plugin.directory import PluginDirectory, VersionNotFound
from hearth.herder.plugin.version import VersionRange
from hearth_api import ConfigDef, ConfigError, ConfigKey, ConfigValue, Lambda, NotFoundError, Recommender

INTERFACES = {
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
}
SETTINGS = {PluginType.SOURCE: SourceConnectorConfig, PluginType.SINK: SinkConnectorConfig}


class Suggestions(Recommender):
    """Recommends fixed values."""

    def __init__(self, values: Sequence[str], is_visible: bool = True) -> None:
        self._values = list(values)
        self._is_visible = is_visible

    def shown(self) -> Suggestions:
        """Return the same recommendations for a key that is always visible."""
        return Suggestions(self._values)

    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        """Return the values."""
        return self._values

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        """Return whether the key is shown."""
        return self._is_visible


class VersionOf(Recommender):
    """Shows a version key if its class was found, as Kafka Connect's ``ConverterPluginVersionRecommender``."""

    def __init__(self, role: str) -> None:
        self._role = role

    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        """Return no values."""
        return []

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        """Return whether the class was found."""
        return parsed_config.get(self._role) is not None


def base_definition(type_: PluginType | None) -> ConfigDef:
    """Return the framework's keys for a type of connector, or those that all types share."""
    return (SETTINGS[type_] if type_ is not None else ConnectorConfig).definition()


class DefinitionMaker:
    """Adapts the framework's keys to one host: its converters, its plugins and their versions."""

    def __init__(self, directory: PluginDirectory, worker: WorkerConfig | None) -> None:
        """Keep the directory and worker; without a worker, converters have no defaults."""
        self._directory = directory
        self._worker = worker

    def definition(self, type_: PluginType | None, config: Mapping[str, str | None]) -> ConfigDef:
        """Return the framework's keys for a configuration."""
        definition = ConfigDef()
        for key in base_definition(type_).keys.values():
            definition.add(self._fitted(key, config))
        for own in (LimitConfig, JavaConfig):
            for name, key in own.definition().keys.items():
                if name in config:
                    definition.add(key)
        return definition

    def class_parts(self, type_: PluginType, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Return the parser, check and recommender of a key that names a plugin."""

        def ensure_valid(name: str, value: Any) -> None:
            check()
            if value is None or self._directory.is_type(value, type_):
                return
            if nested := self._nested(value):
                text = f"This class is abstract and cannot be created. Did you mean {', '.join(nested)}?"
                raise ConfigError(text, code="plugin.abstract")
            raise ConfigError(f"Class class {value} does not implement the {INTERFACES[type_]} interface")

        return {
            "resolver": self._named,
            "validator": Lambda(ensure_valid, "plugin class"),
            "recommender": Suggestions(self._directory.class_names(type_)),
        }

    def version_parts(self, name: str | None, type_: PluginType, shown: str | None) -> dict[str, Any]:
        """Return the default, check and recommender of a version key: the newest by default, all recommended.

        Kafka Connect looks up the default by the name as given, and the recommendations by the class it ``shown``.
        """
        versions = self._directory.versions(self.resolved(name) or "", type_)
        shown = self.resolved(shown and shown.strip())
        suggested = [] if shown is None else self._directory.versions(shown, type_)
        return {
            "default": versions[-1] if versions else None,
            "recommender": Suggestions(suggested, shown is not None),
        }

    def check_versions(self, config: Mapping[str, Any], values: Mapping[str, ConfigValue]) -> None:
        """Report missing versions and invalid version ranges, at the class key and at the version key.

        The class key of a transformation or predicate is not reported if it has an error already.
        """
        for name, value in values.items():
            if not name.endswith(VERSION_SUFFIX) or name == CONNECTOR_VERSION or config.get(name) is None:
                continue
            role = name.removesuffix(VERSION_SUFFIX)
            named = values[role if role in CONVERTER_KEYS else f"{role}.type"]
            try:
                VersionRange.parse(config[name])
                if config.get(named.name) is not None:
                    self._directory.plugin(named.value or "", config[name], type_of(role))
            except ConfigError as error:
                value.add_error_message(str(error))
                is_missing = isinstance(error, VersionNotFound) if role in CONVERTER_KEYS else not named.error_messages
                if is_missing and config.get(named.name) is not None:
                    named.add_error_message(str(error))
            except NotFoundError:
                continue  # the check of the class reports it

    def resolved(self, name: str | None) -> str | None:
        """Return the class of a name, None if there is none."""
        try:
            return None if name is None else self._directory.canonical(name)
        except NotFoundError:
            return None

    def _named(self, name: str) -> str:
        """Return the class of a name, or that of an abstract class with nested plugins."""
        try:
            return self._directory.canonical(name)
        except NotFoundError:
            if self._nested(name):
                return name
            raise

    def _nested(self, name: str) -> list[str]:
        """Return the plugins nested in a class, such as `Cast$Key` in `Cast`."""
        return list(dict.fromkeys(each for each in self._directory.all_names() if each.startswith(f"{name}$")))

    def _fitted(self, key: ConfigKey, config: Mapping[str, str | None]) -> ConfigKey:
        if key.name == CONNECTOR_VERSION:
            versions = self._directory.versions(config.get(CONNECTOR_CLASS) or "", *SETTINGS)
            return replace(key, default=versions[-1] if versions else None, recommender=Suggestions(versions))
        role = key.name.removesuffix(VERSION_SUFFIX)
        if role not in CONVERTER_KEYS:
            return key
        if self._worker is None:
            if key.name == role:
                return replace(key, resolver=self._named)
            return replace(key, recommender=VersionOf(role))
        default = self._worker.parsed[role]
        if key.name == role:
            return replace(key, default=self.resolved(default), **self.class_parts(type_of(role)))
        given = config.get(role)
        shown = default if role not in config else given
        parts = self.version_parts(default if given is None else given, type_of(role), shown)
        if given is None and self._worker.parsed[key.name] is not None:
            parts["default"] = self._worker.parsed[key.name]
        return replace(key, **parts)


def type_of(role: str) -> PluginType:
    """Return the plugin type of a role such as `key.converter` or `transforms.ALIAS`."""
    if role in CONVERTER_KEYS:
        return PluginType.HEADER_CONVERTER if role == "header.converter" else PluginType.CONVERTER
    return PluginType.TRANSFORMATION if role.startswith("transforms.") else PluginType.PREDICATE
