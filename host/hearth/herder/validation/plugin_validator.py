"""What plugins that are no connectors say of the settings that a configuration has for them."""

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
"""How long a plugin may take though those before it have used up the time."""


@dataclass(frozen=True)
class ValidatedPlugin:
    """The keys of a plugin, and where its own checks cannot take place here, what they had to say."""

    definition: ConfigDef
    told: Mapping[str, ConfigValue] = field(default_factory=dict)

    def validate(self, config: Mapping[str, Any]) -> list[ConfigValue]:
        """Return what is wrong with the settings that were validated, given under the plugin's own names.

        The order is Kafka Connect's, which keeps the outcomes in a HashMap.
        """
        return list(hash_ordered(self.told or self.definition.validate_all(config)).values())


class PluginValidator:
    """Asks plugins during one validation.

    A plugin that is installed with the host is checked here, by its definition. One from plugin.path is not
    (Invariant 6): a process of its environment checks the settings and tells the outcome. A call has the limit of
    all plugins' calls, `plugin.call.timeout.ms`, and all of them together may take no longer than a connector's:
    whoever waits for the validation is to hear of the plugin that hangs.
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
        """Validate the settings whose names begin with a prefix; ConnectError when the plugin does not answer."""
        if plugin.bundle is None:
            return ValidatedPlugin(self._describer.definition(plugin))
        own = {name: value for name, value in config.items() if name.startswith(prefix)}
        try:
            keys, values = self._ask(plugin, own, prefix)
        except ConnectError as error:
            log.warning("%s does not check its settings: %s", plugin.class_name, summary_of(error))
            raise
        definition = definition_from_json(keys)
        return ValidatedPlugin(definition, _told(prefix, definition, values))

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


def _told(prefix: str, definition: ConfigDef, values: list[Any]) -> dict[str, ConfigValue]:
    """Return the values of a reply by name: those of keys in the order of the definition, then any others."""
    by_name = {str(value["name"]): value for value in values}
    names = dict.fromkeys([*(prefix + name for name in definition.names), *by_name])
    return {name: _value(definition.keys.get(name[len(prefix) :]), by_name[name]) for name in names}


def _value(key: ConfigKey | None, shown: Mapping[str, Any]) -> ConfigValue:
    """Return a value from what REST shows of it; where no key is defined for it, it is text."""
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
