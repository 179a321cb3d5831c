"""Warnings about settings that have no effect, or not the apparent one; nothing is rejected for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.config import SinkConnectorConfig, SourceConnectorConfig, WorkerConfig
from hearth.config.confinement_key import VARIABLE
from hearth.config.connector_key import CONVERTER_KEYS, NAME
from hearth.config.restart_key import TaskRestartConfig
from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.config.source_key import EXACTLY_ONCE_KEY as EXACTLY_ONCE
from hearth.config.topic_key import DEFAULT_GROUP, GROUPS
from hearth.config.topic_key import PREFIX as TOPIC_CREATION
from hearth.config.worker_configuration import CHOICE
from hearth.discovery import Plugin, PluginType
from hearth.foundation.nearest import did_you_mean
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.token_stage import find_token_provider
from hearth.herder.validation.framework_definition import type_of
from hearth.herder.validation.override import override_prefix, used_clients
from hearth.kafka.client import Translation, access_of, admin_config, consumer_config, producer_config
from hearth_api import ConfigError, ConfigType
from hearth_api.java import parse_type
from hearth_api.worker import ClientType

_OF_WORKER = ("plugin.call.timeout.ms", "plugin.isolation", "plugin.upgrade", "task.isolation")
OWN_KEYS = (*_OF_WORKER, CHOICE, *TaskRestartConfig.definition().names)
"""Valid keys of connectors that no definition shows, because the definitions match Kafka Connect's exactly."""
_DEAD_LETTERS = DEAD_LETTER_TOPIC.removesuffix("topic.name")
_OTHERS = {
    PluginType.SOURCE: (SinkConnectorConfig, "this key is for sinks, and the connector is a source"),
    PluginType.SINK: (SourceConnectorConfig, "this key is for sources, and the connector is a sink"),
}
_ALIASED_TYPE = re.compile(r"(?:transforms|predicates)\.[^.]+\.type")
"""The key that names the class of a transformation or predicate; their own settings may end in ``.type`` too."""
_ACCESS_SECONDS = 3.0
"""Time that brokers of a connector's clients have to answer if they differ from the host's."""


@dataclass(frozen=True)
class ConfigWarning:
    """A key of a configuration and the warning about it."""

    name: str
    message: str
    is_help: bool = False
    """Whether it explains an error of the validation."""
    is_of_client: bool = False
    """Whether its key is a setting of a Kafka client."""


class ConfigWarnings:
    """Finds warnings in one validated configuration."""

    def __init__(
        self,
        plugin: Plugin,
        directory: PluginDirectory,
        worker: WorkerConfig,
        config: Mapping[str, Any],
        result: Mapping[str, Any],
    ) -> None:
        """``result`` is the ConfigInfos of the configuration, with the declared keys and the errors."""
        self._plugin = plugin
        self._directory = directory
        self._worker = worker
        self._config = {name: value for name, value in config.items() if value is not None}
        self._known = [info["definition"]["name"] for info in result["configs"] if info["definition"]]
        self._wrong = {
            info["value"]["name"] for info in result["configs"] if info["value"] and info["value"]["errors"]
        }

    def of_keys(self) -> list[ConfigWarning]:
        """Return the warnings of all keys, in order."""
        return [
            ConfigWarning(name, text, is_help=name in self._wrong) for name in self._config for text in self._of(name)
        ]

    def of_clients(self) -> list[ConfigWarning]:
        """Return the client overrides that have no effect; the start of the tasks logs the same."""
        found: list[ConfigWarning] = []
        worker, name = self._worker.originals, self._config.get(NAME, "")
        for client in used_clients(self._plugin, self._config, self._worker):
            prefix = override_prefix(client)
            written = self._written(prefix)
            try:
                translation = _translated(client, worker, self._config, name)
                find_token_provider(translation.config, self._directory, written)
            except ConfigError as error:
                key, _, text = str(error).partition(": ")
                is_of_key = key.startswith(prefix)
                found.append(ConfigWarning(*(key, text) if is_of_key else (prefix, str(error)), is_of_client=True))
            else:
                warnings = (each.partition(": ") for each in translation.warnings if each.startswith(prefix))
                found += [ConfigWarning(key, text, is_of_client=True) for key, _, text in warnings]
                if access_of(translation.config) != access_of(_translated(client, worker, {}, name).config):
                    found += _of_access(translation.config, prefix)
        return found

    def _written(self, prefix: str) -> Callable[[str], str]:
        """Return a function that returns a client's key as the configuration spells it."""
        return lambda key: prefix + key if prefix + key in self._config else key

    def _of(self, name: str) -> Iterator[str]:
        """Yield the warnings about a key."""
        client = next((each for each in ClientType if name.startswith(override_prefix(each))), None)
        if client is not None:
            if client not in used_clients(self._plugin, self._config, self._worker):
                yield f"it has no effect: the tasks of this connector have no {client}"
        elif name in self._known:
            yield from self._of_known(name)
        elif name not in OWN_KEYS and not name.startswith(VARIABLE) and (text := self._of_unknown(name)):
            yield text

    def _of_known(self, name: str) -> Iterator[str]:
        value = self._config[name].strip()
        if name == EXACTLY_ONCE and value.lower() == "required":
            yield "this host delivers at least once regardless of this key"
        if name.startswith(_DEAD_LETTERS) and not self._config.get(DEAD_LETTER_TOPIC, "").strip():
            yield f"it has no effect without {DEAD_LETTER_TOPIC}"
        if name.startswith("transforms.") and name.endswith(".predicate"):
            listed = self._listed("predicates")
            if value not in listed:
                yield f"no predicate {value!r} is listed in predicates{did_you_mean(value, listed)}"
        role = name.removesuffix(".type")
        if name in self._wrong and (role in CONVERTER_KEYS or _ALIASED_TYPE.fullmatch(name)):
            near = self._directory.catalogue.nearest(value, type_of(role))
            if near:
                yield f"nearest names: {', '.join(near)}"

    def _of_unknown(self, name: str) -> str | None:
        """Return the warning about an undeclared key."""
        above, others, is_open = self._surroundings(name)
        if above is not None and above in self._wrong:
            return None  # the missing plugin might declare it
        if others is not None:
            return f"it has no effect: {others}"
        return None if is_open else f"no plugin declares this key{did_you_mean(name, self._known)}"

    def _surroundings(self, name: str) -> tuple[str | None, str | None, bool]:
        """Return the key that names a key's plugin, why the key has no effect, and whether any key is allowed."""
        for listed in ("transforms", "predicates"):
            if name.startswith(f"{listed}."):
                alias = name.split(".")[1]
                return f"{listed}.{alias}.type", self._unlisted(alias, listed, self._listed(listed)), False
        other, why = _OTHERS[self._plugin.type]
        is_group = name.startswith(TOPIC_CREATION)
        if name in other.definition().keys or (is_group and other is SourceConnectorConfig):
            return None, why, False
        if is_group:
            alias = name.removeprefix(TOPIC_CREATION).partition(".")[0]
            return None, self._unlisted(alias, GROUPS, [*self._listed(GROUPS), DEFAULT_GROUP]), True
        role = next((each for each in CONVERTER_KEYS if name.startswith(f"{each}.")), None)
        if role is not None and role not in self._config:
            return None, f"this connector names no {role}, and the worker's has the worker's settings", False
        return role, None, False

    def _unlisted(self, alias: str, listed: str, aliases: list[str]) -> str | None:
        return None if alias in aliases else f"{alias!r} is not in {listed}{did_you_mean(alias, aliases)}"

    def _listed(self, name: str) -> list[str]:
        return list(parse_type(name, self._config.get(name), ConfigType.LIST) or [])


def _translated(client: ClientType, worker: Mapping[str, str], config: Mapping[str, Any], name: str) -> Translation:
    if client is ClientType.CONSUMER:
        return consumer_config(worker, config, name)
    return (producer_config if client is ClientType.PRODUCER else admin_config)(worker, config)


def _of_access(config: Mapping[str, str], prefix: str) -> Iterator[ConfigWarning]:
    """Yield why a client with other brokers or credentials than its host's cannot connect.

    Reported at the connector's key, because there it can be overridden, even if the worker set it.
    """
    from hearth.kafka.access_attempt import find_access_mistake  # loads confluent-kafka's own clients: 6 MB
    from hearth.kafka.access_diagnosis import AccessMistake

    if (mistake := find_access_mistake(access_of(config), _ACCESS_SECONDS)) is not None:
        key, text = (mistake.key, mistake.reason) if isinstance(mistake, AccessMistake) else ("", str(mistake))
        yield ConfigWarning(prefix + key, f"{text} ({mistake.hint})" if mistake.hint else text)
