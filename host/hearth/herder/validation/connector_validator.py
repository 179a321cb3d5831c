"""Validates a connector's configuration in the order and with the messages of Kafka Connect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from hearth.config import DistributedConfig, WorkerConfig
from hearth.config.confinement_key import refused
from hearth.config.connector_key import CONNECTOR_CLASS, CONNECTOR_VERSION, CONVERTER_KEYS, VERSION_SUFFIX
from hearth.config.sink_key import check_topics
from hearth.config.variable import Resolved, Variables
from hearth.config.worker_configuration import CHOICE
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import CONNECTOR_TYPES, PluginDirectory, VersionNotFound
from hearth.herder.plugin.pool import StagePool
from hearth.herder.plugin.stage import PluginStage, answer_seconds, confinement_of, wants_apart
from hearth.herder.plugin.version import VersionRange
from hearth.herder.validation.alias_key import AliasKeys
from hearth.herder.validation.cluster_key import Support, check_cluster_keys
from hearth.herder.validation.config_warning import ConfigWarning, ConfigWarnings
from hearth.herder.validation.framework_definition import DefinitionMaker
from hearth.herder.validation.override import ALL, override_prefix, override_requests
from hearth.herder.validation.plugin_definition import Describer
from hearth.herder.validation.plugin_validator import PluginValidator
from hearth.herder.validation.result import Section, connector_section, disguise, merge, prefixed_section
from hearth.herder.worker_choice import UnusableConfiguration, worker_for
from hearth.isolation.limit_probe import unkept
from hearth.kafka.client.client_definition import client_definition
from hearth_api import ConfigDef, ConfigError, ConfigValue, ConnectError, NotFoundError
from hearth_api.java import config_def_to_json, config_key_to_json, hash_ordered
from hearth_api.worker import ConnectorClientConfigOverridePolicy, ConnectorClientConfigRequest

T = TypeVar("T")
Config = Mapping[str, Any]
"""A connector's configuration as submitted: strings, and sometimes a null."""

CONVERTER_WORDS = {"header.converter": "header", "key.converter": "key", "value.converter": "value"}
"""Converters in the order of their sections, with the usage that each is configured for."""
DESCRIBED_TYPES = (
    *CONNECTOR_TYPES,
    PluginType.CONVERTER,
    PluginType.HEADER_CONVERTER,
    PluginType.TRANSFORMATION,
    PluginType.PREDICATE,
)


class ValidationFailed(ConnectError):
    """A configuration that cannot be validated at all; Kafka Connect reports it as a server error."""

    code = "connector.unchecked"


class ConnectorValidator:
    """Validates configurations. Thread-safe."""

    def __init__(
        self,
        directory: PluginDirectory,
        worker: WorkerConfig,
        pool: StagePool,
        policy: ConnectorClientConfigOverridePolicy = ALL,
        variables: Variables | None = None,
    ) -> None:
        self._variables = variables or Variables()
        self._directory = directory
        self._pool = pool
        self._worker = worker
        self._policy = policy
        self._describer = Describer(directory)
        self._maker = DefinitionMaker(directory, worker)
        self._plain = DefinitionMaker(directory, None)

    def validate(self, config: Config) -> dict[str, Any]:
        """Return a ConfigInfos; raise ConfigError if the connector class is missing or unknown.

        Validates the values of variables, and shows the variables.
        """
        return self._shown(self._resolved(config))

    def examine(self, config: Config) -> tuple[dict[str, Any], list[ConfigWarning]]:
        """Return the result of `validate` with warnings about settings that have no effect.

        Client settings are checked only if the rest is valid.
        """
        settings = self._resolved(config)
        result = self._shown(settings)
        config_warnings = [ConfigWarning(name, text) for name, text in self._variables_of(config).left(settings)]
        with contextlib.suppress(VersionNotFound):
            plugin = self._directory.connector(settings.config)
            worker = self._governing(settings.config)[0]
            inside = ConfigWarnings(plugin, self._directory, worker, settings.config, result)
            config_warnings += inside.of_keys() + ([] if result["error_count"] else inside.of_clients())
        return result, [replace(each, message=settings.hidden(each.message, each.name)) for each in config_warnings]

    def _resolved(self, config: Config) -> Resolved:
        try:
            return self._variables_of(config).resolve(config)
        except ConfigError as error:
            raise ValidationFailed(str(error), hint=error.hint) from error

    def _variables_of(self, config: Config) -> Variables:
        """Return the variables for a connector; an error in its worker configuration is reported at its key."""
        try:
            return self._variables.of(config)
        except UnusableConfiguration:
            return self._variables

    def _shown(self, settings: Resolved) -> dict[str, Any]:
        try:
            return disguise(self._validate(settings.config, settings.raw), settings)
        except (ConfigError, ValidationFailed) as error:
            shown = settings.hidden(str(error))
            if shown == str(error):
                raise
            raise type(error)(shown, code=error.code, hint=error.hint) from None

    def _validate(self, config: Config, raw: Config) -> dict[str, Any]:
        class_name = config.get(CONNECTOR_CLASS)
        if class_name is None:
            entries = _hashed(raw)
            shown = ", ".join(f"{name}={'null' if value is None else value}" for name, value in entries.items())
            raise ConfigError(f"Connector config {{{shown}}} contains no connector type", code="connector.class")
        try:
            plugin = self._directory.connector(config)
        except VersionNotFound as error:
            return merge(class_name, [self._without_version(config, str(error))])
        worker, complaints = self._governing(config)
        maker = self._maker if worker is self._worker else DefinitionMaker(self._directory, worker)
        plugins = PluginValidator(self._directory, self._describer, self._pool, worker, config)
        _check_kept(worker, config)
        own = self._own_section(plugin, config)
        definition = maker.definition(plugin.type, config)
        complaints |= _complaints(worker, config)
        of_aliases = AliasKeys(self._directory, maker, plugins, config).add_to(definition)
        values = _framework_values(plugin, definition, config, {**of_aliases, **complaints})
        maker.check_versions(config, values)
        if isinstance(worker, DistributedConfig):
            check_cluster_keys(worker, plugin, config, values, self._transactions(plugin, config))
        converters = self._converters(config, values, plugins)  # may add errors to the keys that name them
        connector = connector_section(definition, values, *own)
        return merge(class_name, [connector, *self._overrides(plugin, config), *converters])

    def plugin_keys(self, name: str, version: str | None) -> list[dict[str, Any]]:
        """Return a plugin's key definitions, followed by the framework's for a connector."""
        plugin = self._described_plugin(name, version)
        if plugin.type not in CONNECTOR_TYPES:
            return config_def_to_json(self._describer.definition(plugin).listed())
        own = self._ask(plugin, {}, lambda stage, seconds: stage.definitions(plugin, seconds))
        mine = {key["name"] for key in own}
        framework = self._plain.definition(plugin.type, {CONNECTOR_CLASS: plugin.class_name})
        return own + [config_key_to_json(key) for key in framework.keys.values() if key.name not in mine]

    def _described_plugin(self, name: str, version: str | None) -> Plugin:
        try:
            VersionRange.parse(version)
        except ConfigError as error:
            raise ConfigError(f"Invalid version specification: {version}", code="version.range") from error
        try:
            plugin = self._directory.catalogue.find(name)
        except NotFoundError as error:
            raise NotFoundError(f"Unknown plugin {name}.", code="plugin.unknown", hint=error.hint) from error
        if plugin.type not in DESCRIBED_TYPES:
            raise ConfigError(
                f"Invalid plugin class {name}. Valid types are sink, source, converter, header_converter, "
                "transformation, predicate.",
                code="plugin.type",
            )
        return self._directory.plugin(name, version)

    def _governing(self, config: Config) -> tuple[WorkerConfig, dict[str, ConfigValue]]:
        """Return the worker settings for a connector, and the error in its worker configuration."""
        try:
            return worker_for(self._worker, config, self._variables), {}
        except UnusableConfiguration as error:
            return self._worker, {CHOICE: ConfigValue(CHOICE, config[CHOICE], error_messages=[str(error)])}

    def _without_version(self, config: Config, message: str) -> Section:
        """Return the section for a missing version, without the connector's own keys."""
        definition = self._plain.definition(None, config)
        values = definition.validate_all(config)
        for name in (CONNECTOR_CLASS, CONNECTOR_VERSION):
            values[name].add_error_message(message)
        for name in (f"{role}{VERSION_SUFFIX}" for role in CONVERTER_KEYS):
            try:
                VersionRange.parse(config.get(name))
            except ConfigError as error:
                values[name].add_error_message(str(error))
        return connector_section(definition, _without_nulls(config, values), [], [])

    def _own_section(self, plugin: Plugin, config: Config) -> tuple[list[Any], list[Any]]:
        """Return the connector's own keys and values."""
        answer = self._ask(plugin, config, lambda stage, seconds: stage.validate(plugin, config, seconds))
        if answer.definitions is None:
            raise ConfigError(f"{plugin.class_name}.config() must return a ConfigDef that is not null.")
        if answer.values is None:
            raise ConfigError(f"{plugin.class_name}.validate() must return a Config that is not null.")
        return answer.definitions, answer.values

    def _transactions(self, plugin: Plugin, config: Config) -> Support:
        """Return the function that asks a connector about exactly-once support and transaction boundaries."""
        return lambda boundaries: self._ask(
            plugin, config, lambda stage, seconds: stage.exactly_once(plugin, config, seconds, boundaries=boundaries)
        )

    def _ask(self, plugin: Plugin, config: Config, question: Callable[[PluginStage, float], T]) -> T:
        """Ask an instance of a connector without starting it."""
        environment = self._directory.environment(plugin).confined(confinement_of(self._worker, config))
        seconds = answer_seconds(self._worker, config)
        return self._pool.ask(plugin, environment, seconds, question, wants_apart(self._worker, config))

    def _overrides(self, plugin: Plugin, config: Config) -> list[Section]:
        """Return the sections of the Kafka clients that the connector's tasks use."""
        return [self._client_section(request) for request in override_requests(plugin, config, self._worker)]

    def _client_section(self, request: ConnectorClientConfigRequest) -> Section:
        """Return the section of a connector's overrides of a client, without the client's own checks.

        Raises ValidationFailed for a value of the wrong type, as Kafka Connect does.
        """
        given = request.client_props
        definition = client_definition(str(request.client_type), given) if given else ConfigDef()
        keys = definition.keys
        try:
            parsed = {name: keys[name].parse(value) if name in keys else value for name, value in given.items()}
        except ConfigError as error:
            raise ValidationFailed(str(error)) from error
        values = self._policy.validate(replace(request, client_props=parsed))
        return prefixed_section(override_prefix(request.client_type), definition, values)

    def _converters(
        self, config: Config, values: Mapping[str, ConfigValue], plugins: PluginValidator
    ) -> list[Section]:
        """Return the sections of the connector's own converters, without those that have errors."""
        sections = []
        for role, use in CONVERTER_WORDS.items():
            if config.get(role) is None or any(values[key].error_messages for key in (role, role + VERSION_SUFFIX)):
                continue
            if config[role] != values[role].value and config[role].strip() == values[role].value:
                message = (
                    f"Failed to load class {config[role]}: {config[role]}"  # Java's class loader does not strip blanks
                )
                values[role].add_error_message(message)
                continue
            settings = {"converter.type": use, **_below(config, f"{role}.")}
            try:
                plugin = self._directory.plugin(values[role].value, config.get(f"{role}.plugin.version"))
                validated = plugins.validate(plugin, settings)
            except ConnectError as error:
                message = f"Failed to load ConfigDef from {role.replace('.', ' ')}: {error}"
                values[role].add_error_message(message)
                continue
            sections.append(prefixed_section(f"{role}.", validated.definition, validated.validate(settings)))
        return sections


def _complaints(worker: WorkerConfig, config: Config) -> dict[str, ConfigValue]:
    """Return the errors in settings that restrict what the connector's plugins may access."""
    found = refused(worker, config)
    return {name: ConfigValue(name, config[name], error_messages=[str(error)]) for name, error in found.items()}


def _check_kept(worker: WorkerConfig, config: Config) -> None:
    """Report a limit that this machine cannot enforce: without it no plugin could be asked."""
    for name, why in unkept(confinement_of(worker, config).limits).items():
        raise ConfigError(name, config.get(name, worker.parsed[name]), why, hint="`hearth limits` tests each limit")


def _framework_values(
    plugin: Plugin, definition: ConfigDef, config: Config, of_aliases: Mapping[str, ConfigValue]
) -> dict[str, ConfigValue]:
    """Return the values of the framework's keys with their errors, including those between keys."""
    values = {**definition.validate_all(config), **of_aliases}
    if plugin.type is PluginType.SINK:
        check_topics(config, values)
    return _without_nulls(config, values)


def _without_nulls(config: Config, values: dict[str, ConfigValue]) -> dict[str, ConfigValue]:
    """Report every null, and return the values in the order of Kafka Connect's HashMap.

    This is the order of the values without a definition.
    """
    nulls = [name for name, value in _hashed(config).items() if value is None]
    # Java's computeIfAbsent puts a new entry at the front of its bucket.
    values = {name: ConfigValue(name) for name in reversed(nulls) if name not in values} | values
    for name in nulls:
        values[name].add_error_message("Null value can not be supplied as the configuration value.")
    return hash_ordered(values)


def _hashed(config: Config) -> dict[str, Any]:
    """Return a configuration in the order that Kafka Connect's resolution of variables gives it."""
    return hash_ordered(config, copied=len(config))


def _below(config: Config, prefix: str) -> dict[str, Any]:
    """Return the settings with a prefix, without it; the bare prefix is not a key."""
    below = {name[len(prefix) :]: value for name, value in _hashed(config).items() if name.startswith(prefix)}
    return {name: value for name, value in below.items() if name}
