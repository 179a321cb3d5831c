"""Validates the settings of plugins other than connectors."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.config import WorkerConfig
from hearth.discovery import Plugin
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.plugin.stage import ANSWER_SECONDS, answer_seconds, confinement_of
from hearth.herder.validation.plugin_definition import Describer, definition_from_json
from hearth_api import ConfigDef, ConfigKey, ConfigType, ConfigValue, ConnectError, PluginError
from hearth_api.java import hash_ordered, parse_type
from hearth_execution.failure import summary_of

log = logging.getLogger(__name__)

LEAST_SECONDS = 1.0
"""Least time for a plugin when earlier plugins have used up the time."""


@dataclass(frozen=True)
class ValidatedPlugin:
    """The keys of a plugin, and its results if its checks ran in another process."""

    definition: ConfigDef
    checked: Mapping[str, ConfigValue] = field(default_factory=dict)

    def validate(self, config: Mapping[str, Any]) -> list[ConfigValue]:
        """Return the values of the settings with their errors, under the plugin's own key names.

        The order is Kafka Connect's, which keeps the results in a HashMap.
        """
        return list(hash_ordered(self.checked or self.definition.validate_all(config)).values())


class PluginValidator:
    """Asks plugins to validate their settings during one validation.

    A plugin installed with the host is validated here by its definition. One from plugin.path is not (Invariant 6): a
    process of its environment validates the settings. Each call is limited by `plugin.call.timeout.ms`, and all calls
    together by the limit of one connector's call, so that the client of the validation gets the error of a plugin that
    hangs.
    """

    def __init__(
        self,
        directory: PluginDirectory,
        describer: Describer,
        pool: StagePool,
        worker: WorkerConfig,
        config: Mapping[str, Any],
    ) -> None:
        self._directory = directory
        self._describer = describer
        self._pool = pool
        self._limit = answer_seconds(worker, config)
        self._confinement = confinement_of(worker, config)
        self._until = time.monotonic() + ANSWER_SECONDS

    def validate(self, plugin: Plugin, config: Mapping[str, Any], prefix: str = "") -> ValidatedPlugin:
        """Validate the settings with a prefix; raise ConnectError if the plugin does not answer."""
        if plugin.bundle is None:
            return ValidatedPlugin(self._describer.definition(plugin))
        own = {name: value for name, value in config.items() if name.startswith(prefix)}
        try:
            keys, values = self._ask(plugin, own, prefix)
        except ConnectError as error:
            log.warning("%s did not validate its settings: %s", plugin.class_name, summary_of(error))
            raise
        definition = definition_from_json(keys)
        return ValidatedPlugin(definition, _values_by_name(prefix, definition, values))

    def _ask(self, plugin: Plugin, config: Mapping[str, Any], prefix: str) -> tuple[list[Any], list[Any]]:
        try:
            environment = self._directory.environment(plugin).confined(self._confinement)
        except OSError as error:
            raise PluginError(f"{plugin.class_name} cannot be loaded: {error}") from error
        left = min(self._limit, max(LEAST_SECONDS, round(self._until - time.monotonic(), 1)))
        answer = self._pool.ask(
            plugin, environment, left, lambda stage, seconds: stage.validate(plugin, config, seconds, prefix)
        )
        if answer.definitions is None or answer.values is None:
            raise PluginError(f"{plugin.class_name}.config() must return a ConfigDef that is not null.")
        return answer.definitions, answer.values


def _values_by_name(prefix: str, definition: ConfigDef, values: list[Any]) -> dict[str, ConfigValue]:
    """Return the values of a reply by name: those with a definition in its order, then the others."""
    by_name = {str(value["name"]): value for value in values}
    names = dict.fromkeys([*(prefix + name for name in definition.names), *by_name])
    return {name: _value(definition.keys.get(name[len(prefix) :]), by_name[name]) for name in names}


def _value(key: ConfigKey | None, shown: Mapping[str, Any]) -> ConfigValue:
    """Return a value from its REST format; without a definition it is a string."""
    kind = ConfigType.STRING if key is None else key.type
    item_kind = ConfigType.STRING if kind is ConfigType.LIST else kind
    name = str(shown["name"])
    return ConfigValue(
        name,
        parse_type(name, shown["value"], kind),
        [parse_type(name, item, item_kind) for item in shown["recommended_values"]],
        list(shown["errors"]),
        bool(shown["visible"]),
    )
