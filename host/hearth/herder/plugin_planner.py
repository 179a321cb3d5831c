"""Resolves the plugins of a connector's tasks from the worker's and connector's configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hearth.config import ConnectorConfig, PluginConfig
from hearth.config.connector_key import CONVERTER_KEYS, NAME, VERSION_SUFFIX
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.isolation.environment import Environment
from hearth.staging.plugin_plan import PluginPlan, PluginSpec, TaskSettings
from hearth_api import ConfigError, NotFoundError

VERSION = "plugin.version"
MESSAGES = "errors.log.include.messages"
"""Excluding messages by this key excludes record keys as well, wherever it is set."""
_OWN_OF_TRANSFORM = ("type", "predicate", "negate", VERSION)
_OWN_OF_PREDICATE = ("type", VERSION)


@dataclass(frozen=True)
class PluginPlanner:
    """Resolves the plugins of a connector's pipeline and their environments, which are built on first use."""

    directory: PluginDirectory
    worker: PluginConfig

    def plan(self, connector: Plugin, version: str | None, config: ConnectorConfig) -> PluginPlan:
        """Return the plan that all tasks of a connector share, with task number 0 and no task configuration.

        Raises ConfigError for the first plugin of its pipeline that does not exist.
        """
        specs = _PluginSpecs(self.directory, self.worker, config)
        specs.add_task(connector, version)
        specs.add_converters()
        specs.add_transforms()
        return self._of(specs, config, str(connector.type), connector.class_name)

    def plan_steps(self, config: ConnectorConfig, type_: str) -> PluginPlan:
        """Return a plan of the converters and transformations alone, for records without a task.

        ``type_`` is that of the task that would have them, ``source`` or ``sink``.
        """
        specs = _PluginSpecs(self.directory, self.worker, config)
        specs.add_converters()
        specs.add_transforms()
        return self._of(specs, config, type_, "")

    def _of(self, specs: _PluginSpecs, config: ConnectorConfig, type_: str, class_name: str) -> PluginPlan:
        return PluginPlan(
            connector=config.originals[NAME],
            task=0,
            type=type_,
            connector_class=class_name,
            plugins=tuple(specs.plugins),
            environments=specs.environments,
            task_config={},
            settings=self._settings(config),
        )

    def _settings(self, config: ConnectorConfig) -> TaskSettings:
        worker = self.worker
        return TaskSettings(
            flush_interval=worker.offset_flush_interval_ms / 1000,
            flush_timeout=worker.offset_flush_timeout_ms / 1000,
            graceful_timeout=worker.task_shutdown_graceful_timeout_ms / 1000,
            call_timeout=worker.call_seconds(config.originals),
            retry_timeout_ms=config.errors_retry_timeout,
            retry_delay_max_ms=config.errors_retry_delay_max_ms,
            is_tolerant=config.errors_tolerance == "all",
            logs_failures=config.errors_log_enable,
            logs_records=config.errors_log_include_messages,
            tracks_topics=worker.tracks_topics,
            names_keys=config.errors_log_include_messages or MESSAGES not in config.originals,
        )


class _PluginSpecs:
    """Collects the plugins of one connector's tasks."""

    def __init__(self, directory: PluginDirectory, worker: PluginConfig, config: ConnectorConfig) -> None:
        self._directory = directory
        self._worker = worker
        self._config: Mapping[str, str] = config.originals
        self._settings = config
        self._confinement = worker.confinement(config.originals)
        self.plugins: list[PluginSpec] = []
        self.environments: dict[str, Environment] = {}

    def add_task(self, connector: Plugin, version: str | None) -> None:
        """Add the connector; one that is installed with the host also runs in its own stage (Invariant 6)."""
        environment = self._directory.environment(connector)
        self.environments[environment.key] = environment.confined(self._confinement)
        reference = connector.reference
        self.plugins.append(PluginSpec("task", connector.class_name, reference, version, environment.key))

    def add_converters(self) -> None:
        """Add the key, value and header converters: the connector's own, or the worker's with its settings."""
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
            self.environments[built.key] = built.confined(self._confinement)
            environment = built.key
        config = {key: value for key, value in settings.items() if key not in without}
        names = role, plugin.class_name, plugin.reference, plugin.version
        self.plugins.append(PluginSpec(*names, environment, config, predicate, negate))


def _below(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name[len(prefix) :]: value for name, value in config.items() if name.startswith(prefix)}
