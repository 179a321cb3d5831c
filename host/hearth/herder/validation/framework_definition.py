"""The definition of a connector's configuration: the framework's keys, with what the host's plugins add to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hearth.config import ConnectorConfig, SinkConnectorConfig, SourceConnectorConfig, WorkerConfig
from hearth.config.connector_key import CONNECTOR_CLASS, CONNECTOR_VERSION, CONVERTER_KEYS, VERSION_SUFFIX
from hearth.discovery import PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth_api import ConfigDef, ConfigError, ConfigKey, ConfigValue, Lambda, NotFoundError, Recommender

INTERFACES = {
    PluginType.CONVERTER: "Converter",
    PluginType.HEADER_CONVERTER: "HeaderConverter",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
}
SETTINGS = {PluginType.SOURCE: SourceConnectorConfig, PluginType.SINK: SinkConnectorConfig}


class Suggestions(Recommender):
    """Suggests fixed values."""

    def __init__(self, values: Sequence[str], is_visible: bool = True) -> None:
        self._values = list(values)
        self._is_visible = is_visible

    def shown(self) -> Suggestions:
        """Return the same suggestions for a key that is shown in any case."""
        return Suggestions(self._values)

    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        """Return the values."""
        return self._values

    def visible(self, name: str, parsed_config: Mapping[str, Any]) -> bool:
        """Return whether the key is shown."""
        return self._is_visible


def base_definition(type_: PluginType | None) -> ConfigDef:
    """Return the framework's keys of a type of connector, of any connector without a type."""
    return (SETTINGS[type_] if type_ is not None else ConnectorConfig).definition()


class DefinitionMaker:
    """Fits the framework's keys to one host: its converters, its plugins and their versions."""

    def __init__(self, directory: PluginDirectory, worker: WorkerConfig | None) -> None:
        """Keep what is known; without a worker there are no defaults for converters."""
        self._directory = directory
        self._worker = worker

    def definition(self, type_: PluginType | None, config: Mapping[str, str | None]) -> ConfigDef:
        """Return the framework's keys as they stand for a configuration."""
        definition = ConfigDef()
        for key in base_definition(type_).keys.values():
            definition.add(self._fitted(key, config))
        return definition

    def class_parts(self, type_: PluginType, check: Callable[[], None] = lambda: None) -> dict[str, Any]:
        """Return the parts of a key that names a plugin: how it is resolved, checked and suggested."""

        def ensure_valid(name: str, value: Any) -> None:
            check()
            if value is not None and not self._directory.is_type(value, type_):
                raise ConfigError(f"Class class {value} does not implement the {INTERFACES[type_]} interface")

        return {
            "resolver": self._directory.canonical,
            "validator": Lambda(ensure_valid, "plugin class"),
            "recommender": Suggestions(self._directory.class_names(type_)),
        }

    def version_parts(self, class_name: str | None, type_: PluginType) -> dict[str, Any]:
        """Return the parts of a key that selects versions of a plugin: the newest by default, all suggested."""
        versions = [] if class_name is None else self._directory.versions(class_name, type_)
        newest = versions[-1] if versions else None
        return {"default": newest, "recommender": Suggestions(versions, class_name is not None)}

    def check_versions(self, config: Mapping[str, Any], values: Mapping[str, ConfigValue]) -> None:
        """Object, at the class and at the version, to versions of a class that are not there."""
        for name, value in values.items():
            if not name.endswith(VERSION_SUFFIX) or name == CONNECTOR_VERSION or config.get(name) is None:
                continue
            role = name.removesuffix(VERSION_SUFFIX)
            named = values[role if role in CONVERTER_KEYS else f"{role}.type"]
            try:
                self._directory.plugin(named.value or "", config[name], _type_of(role))
            except ConfigError as error:
                named.add_error_message(str(error))
                value.add_error_message(str(error))
            except NotFoundError:
                continue  # the check of the class says so

    def resolved(self, name: str | None) -> str | None:
        """Return the class behind a name, None when there is none."""
        try:
            return None if name is None else self._directory.canonical(name.strip())
        except NotFoundError:
            return None

    def _fitted(self, key: ConfigKey, config: Mapping[str, str | None]) -> ConfigKey:
        if key.name == CONNECTOR_VERSION:
            versions = self._directory.versions(config.get(CONNECTOR_CLASS) or "", *SETTINGS)
            return replace(key, default=versions[-1] if versions else None, recommender=Suggestions(versions))
        role = key.name.removesuffix(VERSION_SUFFIX)
        if role not in CONVERTER_KEYS:
            return key
        if self._worker is None:
            return key if key.name == role else replace(key, recommender=Suggestions([], is_visible=False))
        default = self._worker.parsed[role]
        if key.name == role:
            return replace(key, default=self.resolved(default), **self.class_parts(_type_of(role)))
        return replace(key, **self.version_parts(self.resolved(config.get(role) or default), _type_of(role)))


def _type_of(role: str) -> PluginType:
    """Return the type of the plugin in a role such as `key.converter` or `transforms.ALIAS`."""
    if role in CONVERTER_KEYS:
        return PluginType.HEADER_CONVERTER if role == "header.converter" else PluginType.CONVERTER
    return PluginType.TRANSFORMATION if role.startswith("transforms.") else PluginType.PREDICATE
