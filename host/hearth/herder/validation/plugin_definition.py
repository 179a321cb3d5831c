"""Key definitions of plugins other than connectors, from the bundle or from the plugin itself."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from hearth.discovery import Plugin
from hearth.foundation.user_file import cache_directory
from hearth.herder.plugin.directory import PluginDirectory
from hearth_api import NO_DEFAULT, ConfigDef, ConfigType, Importance, Width
from hearth_execution.load import load_class


class Describer:
    """Provides the key definitions of plugins.

    A plugin installed with the host is loaded here. One from plugin.path is not (Invariant 6): its definition was
    packed with its bundle, or is read once in a process of its environment. Such a definition has types and defaults
    but no checks; those run in the plugin's process (`plugin_validator`).
    """

    def __init__(self, directory: PluginDirectory) -> None:
        self._directory = directory
        self._known: dict[Plugin, ConfigDef] = {}
        self._lock = threading.Lock()

    def definition(self, plugin: Plugin) -> ConfigDef:
        """Return the definition of a plugin's own keys; raise ConnectError if it is unavailable."""
        with self._lock:
            known = self._known.get(plugin)
        if known is None:
            known = self._describe(plugin)
            with self._lock:
                self._known[plugin] = known
        return known

    def _describe(self, plugin: Plugin) -> ConfigDef:
        if plugin.bundle is None:
            definition: ConfigDef = load_class(plugin.reference)().config()
            return definition
        if plugin.definitions is not None:
            return definition_from_json(plugin.definitions)
        from hearth.packaging.description import DescriptionStore  # rarely needed

        environment = self._directory.environment(plugin)
        store = DescriptionStore(cache_directory("descriptions"))
        return definition_from_json(store.of(environment, plugin.reference, plugin.type, plugin.class_name).config)


def definition_from_json(keys: Iterable[Mapping[str, Any]]) -> ConfigDef:
    """Return a definition without checks from the REST format of its keys."""
    definition = ConfigDef()
    for key in keys:
        default = NO_DEFAULT if key["required"] else key["default_value"]
        definition.define(
            key["name"],
            ConfigType(key["type"]),
            default,
            importance=Importance(key["importance"]),
            doc=key["documentation"],
            group=key["group"],
            order_in_group=key["order_in_group"],
            width=Width(key["width"]),
            display_name=key["display_name"],
            dependents=key["dependents"],
        )
    return definition
