"""The key definitions of plugins that are no connectors: read from the bundle, or asked of the plugin once."""

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
    """Answers which keys a plugin has.

    A plugin that is installed with the host is asked here. One from plugin.path is not (Invariant 6): its
    definition was packed with its bundle, or it is asked once in a process of its own environment; then its
    keys are known by type and default, while its own checks take place in such a process (`plugin_validator`).
    """

    def __init__(self, directory: PluginDirectory) -> None:
        self._directory = directory
        self._known: dict[Plugin, ConfigDef] = {}
        self._lock = threading.Lock()

    def definition(self, plugin: Plugin) -> ConfigDef:
        """Return the definition of a plugin's own keys; raises ConnectError when it cannot be had."""
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
        from hearth.packaging.description import DescriptionStore  # few hosts ever need it

        environment = self._directory.environment(plugin)
        store = DescriptionStore(cache_directory("descriptions"))
        return definition_from_json(store.of(environment, plugin.reference, plugin.type, plugin.class_name).config)


def definition_from_json(keys: Iterable[Mapping[str, Any]]) -> ConfigDef:
    """Return a definition without checks from what REST shows of its keys."""
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
