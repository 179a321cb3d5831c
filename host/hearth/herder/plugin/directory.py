"""Resolves the names in a configuration to plugins and their environments."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from hearth.config.connector_key import CONNECTOR_CLASS, CONNECTOR_VERSION
from hearth.discovery import BundleError, Catalogue, Plugin, PluginType, Rejected, read
from hearth.discovery.version_order import version_key
from hearth.foundation.terminal import printable
from hearth.herder.plugin.version import VersionRange
from hearth.isolation.environment import Environment
from hearth.isolation.environment_store import EnvironmentStore, host_environment
from hearth_api import ConfigError, ConflictError, NotFoundError

log = logging.getLogger(__name__)

CONNECTOR_TYPES = (PluginType.SOURCE, PluginType.SINK)


class PluginNotFound(ConfigError):
    """A configuration names a plugin that does not exist; the wording is Kafka Connect's."""

    code = "plugin.unknown"


class VersionNotFound(ConfigError):
    """A configuration requests versions of a plugin that do not exist; the wording is Kafka Connect's."""

    code = "plugin.version"

    def __init__(self, class_name: str, wanted: VersionRange, available: list[str]) -> None:
        super().__init__(
            f"Plugin {class_name} not found that matches the version range {wanted}, "
            f"available versions: [{', '.join(available)}]"
        )


class PluginGone(ConflictError):
    """A plugin existed earlier and no longer does; its args are the class, its location and the reason."""

    code = "plugin.gone"
    hint = "put the bundle back"

    def __str__(self) -> str:
        """Return the message for the operator about the bundle."""
        class_name, location, reason = self.args
        return (
            f"{class_name} was found in {location} and is no longer available: {reason}. "
            "Running plugins are not affected"
        )


class PluginDirectory:
    """All plugins of a host, by name and version, with the environments they run in.

    plugin.path is scanned on first use, so that a host can start serving before that, whenever ``look`` is called, and
    when a requested plugin is unknown or its bundle has changed: bundles may be added, replaced and removed while the
    host runs. A request for a removed plugin raises the reason. Thread-safe.
    """

    def __init__(self, scanner: Callable[[], Catalogue], environments: EnvironmentStore) -> None:
        """``scanner`` returns the current catalogue, the same object as before if nothing has changed."""
        self._scanner = scanner
        self._known: Catalogue | None = None
        self._lost: tuple[Plugin, ...] = ()
        self._refused: tuple[Rejected, ...] = ()
        """Newly rejected bundles, logged once a second scan finds them unchanged: they may still be being copied."""
        self._lock = threading.Lock()
        self.environments = environments
        self._listener: Callable[[frozenset[str]], None] = lambda classes: None

    def subscribe(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Set the callback for classes whose plugins changed; it runs on the scanning thread and must not block."""
        self._listener = listener

    @property
    def catalogue(self) -> Catalogue:
        """Return the catalogue; the first call scans plugin.path."""
        if self._known is None:
            self.look()
            assert self._known is not None
        return self._known

    def look(self) -> None:
        """Scan plugin.path, and notify the subscriber of changes."""
        with self._lock:
            found, before = self._scanner(), self._known
            self._known = found
            if before is None or found is before:
                refused, self._refused = self._refused, ()
                _warn(refused)
                return
            reported = {*before.rejected, *before.shadowed} - {*self._refused}
            self._refused = tuple(each for each in (*found.rejected, *found.shadowed) if each not in reported)
            now, then = ({_identity(each): each for each in known.plugins} for known in (found, before))
            changed = {each.class_name for each in now.keys() ^ then.keys()}
            gone = [then[each] for each in then.keys() - now.keys()]
            there = {(each.class_name, each.type, each.location) for each in found.plugins}
            lost = [each for each in (*self._lost, *gone) if (each.class_name, each.type, each.location) not in there]
            self._lost = tuple(dict.fromkeys(lost))
        _log_changes(before, found)
        if changed:
            self._listener(frozenset(changed))

    def connector(self, config: Mapping[str, str | None]) -> Plugin:
        """Return the connector that a configuration names.

        Raises PluginNotFound or VersionNotFound if it does not exist, PluginGone if it has been removed.
        """
        name = config.get(CONNECTOR_CLASS) or ""
        try:
            return self.plugin(name, config.get(CONNECTOR_VERSION), *CONNECTOR_TYPES)
        except NotFoundError as error:
            raise PluginNotFound(self._unknown_connector(name), hint=error.hint) from error

    def plugin(self, name: str, version: str | None, *types: PluginType) -> Plugin:
        """Return the newest plugin with a name and one of these types in a version range.

        Raises NotFoundError for the name, VersionNotFound for the versions, ConfigError for an invalid range,
        PluginGone for a plugin that has been removed.
        """
        with contextlib.suppress(NotFoundError, VersionNotFound):
            chosen = self._chosen(name, version, *types)
            if all(each.bundle is None or each.bundle.is_current for each in self.catalogue.known(name, *types)):
                return chosen
        self.look()
        try:
            return self._chosen(name, version, *types)
        except (NotFoundError, VersionNotFound) as error:
            lost = self._lost_one(name, version, *types)
            if lost is None:
                raise
            raise self._gone(lost) from error

    def _chosen(self, name: str, version: str | None, *types: PluginType) -> Plugin:
        latest = self.catalogue.find(name, *types)
        wanted = VersionRange.parse(version)
        if wanted is None:
            return latest
        chosen = wanted.newest(self.versions(name, *types))
        if chosen is None:
            # Kafka Connect lists a version once for each type of the class.
            every = [each.version for each in self.catalogue.plugins if each.class_name == latest.class_name]
            raise VersionNotFound(latest.class_name, wanted, sorted(every, key=version_key))
        same = [each for each in self.catalogue.of_type(*types) if each.class_name == latest.class_name]
        return next(each for each in reversed(same) if each.version == chosen)

    def versions(self, name: str, *types: PluginType) -> list[str]:
        """Return the available versions of a plugin, the newest last; empty if the plugin does not exist."""
        return sorted(self.catalogue.versions(name, *types), key=version_key)

    def class_names(self, type_: PluginType) -> list[str]:
        """Return the classes of a type, each once, in Kafka's order."""
        return list(dict.fromkeys(plugin.class_name for plugin in self.catalogue.of_type(type_)))

    def all_names(self) -> list[str]:
        """Return the classes of all plugins; those with several types or versions are repeated."""
        return [plugin.class_name for plugin in self.catalogue.plugins]

    def canonical(self, name: str) -> str:
        """Return the class name of a name or alias of any type; raise NotFoundError if there is none."""
        return self.catalogue.find(name).class_name

    def is_type(self, class_name: str, type_: PluginType) -> bool:
        """Return whether a class is a plugin of a type."""
        return any(plugin.class_name == class_name for plugin in self.catalogue.of_type(type_))

    def connector_type(self, config: Mapping[str, str | None] | None) -> str:
        """Return `source` or `sink`, or `unknown` if the configuration names no existing connector."""
        try:
            name = (config or {}).get(CONNECTOR_CLASS) or ""
            return str(self.catalogue.find(name, *CONNECTOR_TYPES).type)
        except NotFoundError:
            return "unknown"

    def environment(self, plugin: Plugin) -> Environment:
        """Return the environment of a plugin, building it on first use.

        Raises PluginGone if its bundle has just been removed.
        """
        if plugin.bundle is None:
            return host_environment()
        try:
            return self.environments.ensure(plugin.bundle)
        except (BundleError, OSError) as error:
            if plugin.bundle.is_current:
                raise
            raise self._gone(plugin) from error

    def _lost_one(self, name: str, version: str | None, *types: PluginType) -> Plugin | None:
        """Return the newest removed plugin with a name in a version range."""
        lost, wanted = Catalogue(self._lost), VersionRange.parse(version)
        known = lost.known(name, *types)
        chosen = None if wanted is None else wanted.newest(lost.versions(name, *types))
        return next((each for each in reversed(known) if wanted is None or each.version == chosen), None)

    def _gone(self, plugin: Plugin) -> PluginGone:
        """Return the error for a removed plugin, with what its location holds now."""
        refused = (each.reason for each in self.catalogue.rejected if each.location == plugin.location)
        found = read(Path(plugin.location))
        reason = found.reason if isinstance(found, Rejected) else "it no longer declares this plugin"
        return PluginGone(plugin.class_name, plugin.location, next(refused, reason))

    def _unknown_connector(self, name: str) -> str:
        """Return Kafka Connect's message, followed by the most similar names."""
        known = ", ".join(_described(plugin) for plugin in self.catalogue.of_type(PluginType.SINK))
        known_sources = ", ".join(_described(plugin) for plugin in self.catalogue.of_type(PluginType.SOURCE))
        listed = ", ".join(filter(None, [known, known_sources]))
        message = (
            "Failed to find any class that implements Connector and which name matches "
            f"{name}, available connectors are: {listed}"
        )
        near = self.catalogue.nearest(name, *CONNECTOR_TYPES)
        return f"{message}. Nearest names: {', '.join(near)}" if near else message


def _identity(plugin: Plugin) -> Plugin:
    """Return a key that differs if the plugin or its bundle has changed."""
    return plugin if plugin.bundle is None else replace(plugin, bundle=plugin.bundle.identity)


def _log_changes(before: Catalogue, found: Catalogue) -> None:
    """Log the bundles that were added, replaced or removed."""
    bundles = [
        {each.bundle.location: each.bundle.identity for each in catalogue.plugins if each.bundle is not None}
        for catalogue in (before, found)
    ]
    for location, bundle in bundles[1].items():
        if bundles[0].get(location) != bundle:
            log.info("%s: found %s %s", printable(str(location)), bundle.name, bundle.version)
    for location, bundle in bundles[0].items():
        if location not in bundles[1]:
            log.info(
                "%s: %s %s was removed; running plugins stay", printable(str(location)), bundle.name, bundle.version
            )


def _warn(refused: Sequence[Rejected]) -> None:
    for each in refused:
        log.warning("%s", printable(f"{each.location} is skipped: {each.reason} ({each.hint})", keep=""))


def _described(plugin: Plugin) -> str:
    """Return a plugin in the format of Kafka Connect's messages."""
    return (
        f"PluginDesc{{klass=class {plugin.class_name}, "
        f"name='{plugin.class_name}', version='{plugin.version}', "
        f"encodedVersion={plugin.version}, type={plugin.type}, typeName='{plugin.type}', "
        f"location='{plugin.location}'}}"
    )
