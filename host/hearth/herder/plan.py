"""From the configurations of a connector and a task to what its run on Spark needs to know."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hearth.config import ConnectorConfig, WorkerConfig
from hearth.config.connector_key import CONVERTER_KEYS, VERSION_SUFFIX
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.isolation.environment import Environment
from hearth.kafka.client import consumer_config, producer_config
from hearth.link.admission import LinkAddress
from hearth.runtime.spec import PluginSpec, TaskSpec
from hearth_api import ConfigError, NotFoundError

log = logging.getLogger(__name__)

VERSION = "plugin.version"
_OWN_OF_TRANSFORM = ("type", "predicate", "negate", VERSION)
_OWN_OF_PREDICATE = ("type", VERSION)


@dataclass(frozen=True)
class TaskPlan:
    """Everything about a task that stays the same from one run of it to the next."""

    connector: str
    task: int
    plugin: Plugin
    version: str | None
    config: Mapping[str, str]
    task_config: Mapping[str, str]
    worker: Mapping[str, str]
    plugins: tuple[PluginSpec, ...]
    environments: Mapping[str, Environment]
    host: str = ""
    tasks: int = 1

    def spec(self, generation: int, link: LinkAddress, paused: bool) -> TaskSpec:
        """Return what one run is told."""
        return TaskSpec(
            self.connector,
            self.task,
            generation,
            str(self.plugin.type),
            self.plugin.class_name,
            self.version,
            dict(self.config),
            dict(self.task_config),
            dict(self.worker),
            self.plugins,
            dict(self.environments),
            link,
            paused,
            self.host,
            self.tasks,
        )


@dataclass(frozen=True)
class Planner:
    """Resolves the plugins of a connector's pipeline; raises ConfigError for the first that is not there."""

    directory: PluginDirectory
    worker: WorkerConfig

    def plan(
        self, connector: Plugin, version: str | None, config: Mapping[str, str], tasks: Sequence[Mapping[str, str]]
    ) -> list[TaskPlan]:
        """Return the plans of all tasks of a connector, and log what its clients cannot honour."""
        self._check_clients(connector, config)
        specs = _PluginSpecs(self.directory, self.worker, config)
        specs.add_task(connector, version)
        specs.add_converters()
        specs.add_transforms()
        return [
            TaskPlan(
                config["name"],
                number,
                connector,
                version,
                config,
                task_config,
                self.worker.originals,
                tuple(specs.plugins),
                specs.environments,
                self.worker.identity,
                len(tasks),
            )
            for number, task_config in enumerate(tasks)
        ]

    def _check_clients(self, connector: Plugin, config: Mapping[str, str]) -> None:
        """Log which of the connector's own client settings cannot be honoured; the worker's were at its start."""
        make = producer_config if connector.type is PluginType.SOURCE else consumer_config
        servers = {"bootstrap.servers": self.worker.originals["bootstrap.servers"]}
        for warning in make(servers, config, config["name"], 0).warnings:
            log.warning("connector %r: %s", config["name"], warning)


class _PluginSpecs:
    """The plugins of one connector's tasks while they are put together."""

    def __init__(self, directory: PluginDirectory, worker: WorkerConfig, config: Mapping[str, str]) -> None:
        self._directory = directory
        self._worker = worker
        self._config = config
        self._settings = ConnectorConfig(config)
        self.plugins: list[PluginSpec] = []
        self.environments: dict[str, Environment] = {}

    def add_task(self, connector: Plugin, version: str | None) -> None:
        """Add the connector; also one that is installed with the host runs in a stage of its own (Invariant 6)."""
        environment = self._directory.environment(connector)
        self.environments[environment.key] = environment
        python = connector.python
        self.plugins.append(PluginSpec("task", connector.class_name, python, version, environment.key))

    def add_converters(self) -> None:
        """Add a converter for keys, values and headers: the connector's own, or the worker's with its settings."""
        for role in CONVERTER_KEYS:
            type_ = PluginType.HEADER_CONVERTER if role == "header.converter" else PluginType.CONVERTER
            source = self._config if self._config.get(role) else self._worker.originals
            settings = _below(source, f"{role}.")
            name = source.get(role) or self._worker.parsed[role]
            self._add(role, name, source.get(role + VERSION_SUFFIX), settings, (VERSION,), type_)

    def add_transforms(self) -> None:
        """Add the transformations in the order of the chain, and the predicates they refer to."""
        for alias in dict.fromkeys(self._settings.transforms):
            settings = _below(self._config, f"transforms.{alias}.")
            guard = settings.get("predicate")
            if guard is not None:
                self._add_predicate(guard, alias)
            negate = settings.get("negate", "").strip().lower() == "true"
            self._add(
                f"transforms.{alias}",
                settings.get("type"),
                settings.get(VERSION),
                settings,
                _OWN_OF_TRANSFORM,
                PluginType.TRANSFORMATION,
                predicate=None if guard is None else f"predicates.{guard}",
                negate=negate and guard is not None,
            )

    def _add_predicate(self, alias: str, transform: str) -> None:
        role = f"predicates.{alias}"
        if any(plugin.role == role for plugin in self.plugins):
            return
        if alias not in self._settings.predicates:
            raise ConfigError(
                f"transforms.{transform}.predicate",
                alias,
                "no predicate of that name is listed in the configuration predicates",
            )
        settings = _below(self._config, f"{role}.")
        version = settings.get(VERSION)
        self._add(role, settings.get("type"), version, settings, _OWN_OF_PREDICATE, PluginType.PREDICATE)

    def _add(
        self,
        role: str,
        name: str | None,
        version: str | None,
        settings: Mapping[str, str],
        without: tuple[str, ...],
        type_: PluginType,
        predicate: str | None = None,
        negate: bool = False,
    ) -> None:
        key = role if role in CONVERTER_KEYS else f"{role}.type"
        try:
            plugin = self._directory.plugin((name or "").strip(), version, type_)
        except NotFoundError as error:
            raise ConfigError(key, name, f"Class {name} could not be found.", hint=error.hint) from error
        environment = None
        if plugin.bundle is not None:
            built = self._directory.environment(plugin)
            self.environments[built.key] = built
            environment = built.key
        config = {key: value for key, value in settings.items() if key not in without}
        self.plugins.append(
            PluginSpec(role, plugin.class_name, plugin.python, plugin.version, environment, config, predicate, negate)
        )


def _below(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}
