"""From the names in a configuration to plugins and the environments they run in."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hearth.discovery import Catalogue, Plugin, PluginType
from hearth.discovery.version import version_key
from hearth.herder.version import VersionRange
from hearth.isolation.environment import Environment, EnvironmentStore, host_environment
from hearth.runtime.config.connector import CONNECTOR_CLASS, CONNECTOR_VERSION
from hearth_api import ConfigError, NotFoundError

CONNECTOR_TYPES = (PluginType.SOURCE, PluginType.SINK)


class PluginNotFound(ConfigError):
    """A configuration names a plugin that is not there; the wording is Kafka Connect's."""

    code = "plugin.unknown"


class VersionNotFound(ConfigError):
    """A configuration asks for versions of a plugin that are not there; the wording is Kafka Connect's."""

    code = "plugin.version"

    def __init__(self, class_name: str, wanted: VersionRange, available: list[str]) -> None:
        super().__init__(
            f"Plugin {class_name} not found that matches the version range {wanted}, "
            f"available versions: [{', '.join(available)}]"
        )


class PluginDirectory:
    """All plugins of a host, by name and version, with the environments they run in.

    The catalogue is read on first use, so that a host can begin to serve while it is still being made.
    """

    def __init__(self, catalogue: Callable[[], Catalogue], environments: EnvironmentStore) -> None:
        self._catalogue = catalogue
        self._environments = environments

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue, waiting for it when it is not there yet."""
        return self._catalogue()

    def connector(self, config: Mapping[str, str | None]) -> Plugin:
        """Return the connector that a configuration names; PluginNotFound or VersionNotFound when there is none."""
        name = config.get(CONNECTOR_CLASS) or ""
        try:
            self.catalogue.find(name, *CONNECTOR_TYPES)
        except NotFoundError as error:
            raise PluginNotFound(self._unknown_connector(name), hint=error.hint) from error
        return self.plugin(name, config.get(CONNECTOR_VERSION), *CONNECTOR_TYPES)

    def plugin(self, name: str, version: str | None, *types: PluginType) -> Plugin:
        """Return the newest plugin of these types under a name in a range of versions.

        Raises NotFoundError for the name, VersionNotFound for the versions, ConfigError for a bad range.
        """
        latest = self.catalogue.find(name, *types)
        wanted = VersionRange.parse(version)
        if wanted is None:
            return latest
        chosen = wanted.newest(self.versions(name, *types))
        if chosen is None:
            raise VersionNotFound(latest.class_name, wanted, self.versions(name, *types))
        same = [each for each in self.catalogue.of_type(*types) if each.class_name == latest.class_name]
        return next(each for each in reversed(same) if each.version == chosen)

    def versions(self, name: str, *types: PluginType) -> list[str]:
        """Return the versions there are of a plugin, the newest last; none when there is no such plugin."""
        return sorted(self.catalogue.versions(name, *types), key=version_key)

    def class_names(self, type_: PluginType) -> list[str]:
        """Return the classes of a type, each once, in Kafka's order."""
        return list(dict.fromkeys(plugin.class_name for plugin in self.catalogue.of_type(type_)))

    def canonical(self, name: str) -> str:
        """Return the class name behind a name or alias of any type; NotFoundError when there is none."""
        return self.catalogue.find(name).class_name

    def is_type(self, class_name: str, type_: PluginType) -> bool:
        """Return whether a class is a plugin of a type."""
        return any(plugin.class_name == class_name for plugin in self.catalogue.of_type(type_))

    def connector_type(self, config: Mapping[str, str | None] | None) -> str:
        """Return `source` or `sink`, `unknown` when the configuration names no connector there is."""
        try:
            name = (config or {}).get(CONNECTOR_CLASS) or ""
            return str(self.catalogue.find(name, *CONNECTOR_TYPES).type)
        except NotFoundError:
            return "unknown"

    def environment(self, plugin: Plugin) -> Environment:
        """Return the environment of a plugin, built first when it is the first time it is needed."""
        return host_environment() if plugin.bundle is None else self._environments.ensure(plugin.bundle)

    def _unknown_connector(self, name: str) -> str:
        """Return Kafka Connect's sentence, and after it the names that resemble the one given."""
        known = ", ".join(_described(plugin) for plugin in self.catalogue.of_type(PluginType.SINK))
        known_sources = ", ".join(_described(plugin) for plugin in self.catalogue.of_type(PluginType.SOURCE))
        listed = ", ".join(filter(None, [known, known_sources]))
        message = (
            "Failed to find any class that implements Connector and which name matches "
            f"{name}, available connectors are: {listed}"
        )
        near = self.catalogue.nearest(name, *CONNECTOR_TYPES)
        return f"{message}. Nearest names: {', '.join(near)}" if near else message


def _described(plugin: Plugin) -> str:
    """Return a plugin as Kafka Connect's messages show it."""
    return (
        f"PluginDesc{{klass=class {plugin.class_name}, "
        f"name='{plugin.class_name}', version='{plugin.version}', "
        f"encodedVersion={plugin.version}, type={plugin.type}, typeName='{plugin.type}', "
        f"location='{plugin.location}'}}"
    )
