"""From the names in a configuration to plugins and the environments they run in."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from hearth.config.connector_key import CONNECTOR_CLASS, CONNECTOR_VERSION
from hearth.discovery import Bundle, BundleError, Catalogue, Plugin, PluginType, Rejected, discover, read
from hearth.discovery.version_order import version_key
from hearth.herder.plugin.version import VersionRange
from hearth.isolation.environment import Environment
from hearth.isolation.environment_store import EnvironmentStore, host_environment
from hearth_api import ConfigError, ConflictError, NotFoundError

log = logging.getLogger(__name__)

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


class PluginGone(ConflictError):
    """A plugin was there when the host started and is not any more: its class, where it was, and what is there now."""

    code = "plugin.gone"
    hint = "put the bundle back, or restart the host, which reads plugin.path anew"

    def __str__(self) -> str:
        """Word the facts so that whoever upgrades a host knows what to do."""
        class_name, location, reason = self.args
        return (
            f"{class_name} was found in {location} when the host started, and cannot be had from there any more: "
            f"{reason}. What runs goes on; a restart of the host shows what is on plugin.path now"
        )


class PluginAdded(ConflictError):
    """A configuration names a plugin that came after the host had looked: what is known of where it is."""

    code = "plugin.added"
    hint = "restart the host, which reads plugin.path anew"

    def __str__(self) -> str:
        """Word it as news, not as a mistake."""
        return f"{self.args[0]}; it came after the host had started"


class PluginDirectory:
    """All plugins of a host, by name and version, with the environments they run in.

    The catalogue is read on first use, so that a host can begin to serve while it is still being made. A bundle may
    be exchanged while the host runs: whoever asks for one of its plugins finds what lies there now, or hears what is
    missing. Bundles that are added are not looked for.
    """

    def __init__(self, catalogue: Callable[[], Catalogue], environments: EnvironmentStore) -> None:
        self._first = catalogue
        self._newer: Catalogue | None = None
        self._lock = threading.Lock()
        self._environments = environments

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue, waiting for it when it is not there yet."""
        return self._newer or self._first()

    def connector(self, config: Mapping[str, str | None]) -> Plugin:
        """Return the connector that a configuration names.

        Raises PluginNotFound or VersionNotFound when there is none, PluginGone or PluginAdded when that is so because
        plugin.path has changed.
        """
        name = config.get(CONNECTOR_CLASS) or ""
        try:
            return self.plugin(name, config.get(CONNECTOR_VERSION), *CONNECTOR_TYPES)
        except NotFoundError as error:
            if added := self._added(name, *CONNECTOR_TYPES):
                raise PluginAdded(added) from error
            raise PluginNotFound(self._unknown_connector(name), hint=error.hint) from error

    def plugin(self, name: str, version: str | None, *types: PluginType) -> Plugin:
        """Return the newest plugin of these types under a name in a range of versions.

        Raises NotFoundError for the name, VersionNotFound for the versions, ConfigError for a bad range, PluginGone
        for one that was there once.
        """
        for location in self._locations(name, *types):
            self._look_again(location)
        try:
            chosen = self._chosen(name, version, *types)
        except NotFoundError:
            raise self._gone(self._first().find(name, *types)) from None
        if chosen.bundle is None or chosen.bundle.is_current:
            return chosen
        raise self._gone(chosen)

    def _chosen(self, name: str, version: str | None, *types: PluginType) -> Plugin:
        latest = self.catalogue.find(name, *types)
        wanted = VersionRange.parse(version)
        if wanted is None:
            return latest
        chosen = wanted.newest(self.versions(name, *types))
        if chosen is None:
            # Kafka Connect shows a version once for each type that the class has.
            every = [each.version for each in self.catalogue.plugins if each.class_name == latest.class_name]
            raise VersionNotFound(latest.class_name, wanted, sorted(every, key=version_key))
        same = [each for each in self.catalogue.of_type(*types) if each.class_name == latest.class_name]
        return next(each for each in reversed(same) if each.version == chosen)

    def versions(self, name: str, *types: PluginType) -> list[str]:
        """Return the versions there are of a plugin, the newest last; none when there is no such plugin."""
        return sorted(self.catalogue.versions(name, *types), key=version_key)

    def class_names(self, type_: PluginType) -> list[str]:
        """Return the classes of a type, each once, in Kafka's order."""
        return list(dict.fromkeys(plugin.class_name for plugin in self.catalogue.of_type(type_)))

    def all_names(self) -> list[str]:
        """Return the classes of all plugins, those of several types or versions more than once."""
        return [plugin.class_name for plugin in self.catalogue.plugins]

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
        """Return the environment of a plugin, built first when it is the first time it is needed.

        Raises PluginGone where its bundle was taken away just now.
        """
        if plugin.bundle is None:
            return host_environment()
        try:
            return self._environments.ensure(plugin.bundle)
        except (BundleError, OSError) as error:
            if plugin.bundle.is_current:
                raise
            raise self._gone(plugin) from error

    def _locations(self, name: str, *types: PluginType) -> list[Path]:
        """Return where the bundles lie, or lay, that have a plugin in any version."""
        known = [*self._first().known(name, *types), *self.catalogue.known(name, *types)]
        return list(dict.fromkeys(each.bundle.location for each in known if each.bundle is not None))

    def _look_again(self, location: Path) -> None:
        """Let the bundle that lies at a location now take the place of the one that did."""
        bundles = (each.bundle for each in self.catalogue.plugins if each.location == str(location))
        known = next(bundles, None)
        if known is not None and known.is_current:
            return
        found = read(location)
        if isinstance(found, Bundle):
            log.info("%s holds %s %s now, which is used from now on", location, found.name, found.version)
            with self._lock:
                self._newer = self.catalogue.with_bundle(found)

    def _gone(self, plugin: Plugin) -> PluginGone:
        """Return the error for a plugin that was there: what is there now, and where it is when that is elsewhere."""
        found = read(Path(plugin.location))
        reason = found.reason if isinstance(found, Rejected) else "it declares no such plugin now"
        added = self._added(plugin.class_name, plugin.type)
        return PluginGone(plugin.class_name, plugin.location, f"{reason}; {added}" if added else reason)

    def _added(self, name: str, *types: PluginType) -> str | None:
        """Return a sentence about the bundle that has a plugin and came after the host had looked."""
        with contextlib.suppress(NotFoundError):
            found = discover(self.catalogue.plugin_path, include_host=False).find(name, *types)
            return f"{found.location} has {found.class_name} {found.version}, which a restart of the host would show"
        return None

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
