"""Selects the worker settings for a connector: the worker's own, or those of a named worker configuration."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hearth.config import WorkerConfig
from hearth.config.connector_key import CONVERTER_KEYS, VERSION_SUFFIX
from hearth.config.variable import Variables, has_variable
from hearth.config.worker_configuration import CHOICE, CLIENT_KEYS, DEFAULT, WorkerConfiguration, is_governed
from hearth.discovery import Plugin, PluginType
from hearth.foundation.nearest import did_you_mean
from hearth.herder.cluster_lookup import client_config
from hearth.herder.password_mask import HIDDEN
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.provider_stage import PROVIDERS, open_providers, provider_plugins
from hearth.herder.plugin.token_stage import find_token_provider
from hearth.herder.validation.plugin_definition import Describer
from hearth.kafka.client import consumer_config, producer_config
from hearth.storage import ConfigStore, ConfigurationFolder
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError
from hearth_api.worker import ConfigProvider

log = logging.getLogger(__name__)

_PROVIDER_CLASS = re.compile(r"config\.providers\.[^.]+\.class")


class UnusableConfiguration(ConfigError):
    """A connector names a worker configuration that does not exist or cannot run tasks."""


def worker_for(worker: WorkerConfig, config: Mapping[str, Any], variables: Variables) -> WorkerConfig:
    """Return the worker settings that apply to a connector with this configuration.

    Raises UnusableConfiguration, which names the connector's own key, if its worker configuration is missing or
    invalid.
    """
    name = config.get(CHOICE)
    if name is None:
        return worker
    try:
        chosen = ConfigurationFolder(worker.worker_configuration_path).find(name.strip())
        settings = variables.of(config).resolve(chosen.properties)
    except UnusableConfiguration:
        raise
    except (ConfigError, NotFoundError) as error:
        raise UnusableConfiguration(CHOICE, name, str(error), code=error.code, hint=error.hint) from error
    try:
        return worker.governed_by(replace(chosen, properties=settings.config))
    except ConfigError as error:
        message = settings.hidden(str(error))
        raise UnusableConfiguration(CHOICE, name, message, code=error.code, hint=error.hint) from None


class GovernedVariables(Variables):
    """Variables resolved by the worker's providers and those of a connector's worker configuration.

    A provider of a worker configuration overrides a worker's provider of the same name. It is opened on first use and
    shared until the host stops.
    """

    def __init__(self, worker: WorkerConfig, directory: PluginDirectory) -> None:
        super().__init__(open_providers(worker.originals, directory))
        self._directory = directory
        self._folder = ConfigurationFolder(worker.worker_configuration_path)
        self._lock = threading.Lock()
        self._opened: dict[Hashable, dict[str, ConfigProvider]] = {}

    def of(self, config: Mapping[str, Any]) -> Variables:
        """Return a connector's variables; raise UnusableConfiguration if a provider fails."""
        name = config.get(CHOICE) or DEFAULT.name
        try:
            properties = self._folder.find(name.strip()).properties
        except (ConfigError, NotFoundError):
            return self  # `worker_for` reports the error
        given = {key: value for key, value in properties.items() if key.startswith(PROVIDERS)}
        try:
            return Variables({**self._providers, **self._open(given)}) if given else self
        except ConfigError as error:
            raise UnusableConfiguration(CHOICE, name, str(error), code=error.code, hint=error.hint) from error

    def close(self) -> None:
        """Close all providers."""
        super().close()
        with self._lock:
            opened, self._opened = self._opened, {}
        for providers in opened.values():
            Variables(providers).close()

    def _open(self, given: Mapping[str, str]) -> Mapping[str, ConfigProvider]:
        key = frozenset(given.items())
        with self._lock:
            if key not in self._opened:
                self._opened[key] = open_providers(given, self._directory)
            return self._opened[key]


def find_converters(worker: WorkerConfig, directory: PluginDirectory) -> None:
    """Raise ConfigError if a converter of a worker does not exist, with the nearest names as the hint."""
    for role in CONVERTER_KEYS:
        _converter(role, worker, directory)


def find_token_providers(worker: WorkerConfig, directory: PluginDirectory) -> None:
    """Raise ConfigError if a worker's client settings are wrong, or no provider makes their tokens."""
    for prefix, client in (
        ("producer.", producer_config(worker.originals, {})),
        ("consumer.", consumer_config(worker.originals, {}, "any")),
        ("admin.", client_config(worker.originals)),
    ):

        def written(key: str, prefix: str = prefix) -> str:
            return prefix + key if prefix + key in worker.originals else key

        find_token_provider(client.config, directory, written)


def _converter(role: str, worker: WorkerConfig, directory: PluginDirectory) -> Plugin:
    name = worker.parsed[role]
    type_ = PluginType.HEADER_CONVERTER if role == "header.converter" else PluginType.CONVERTER
    try:
        return directory.plugin(name, worker.parsed[role + VERSION_SUFFIX], type_)
    except NotFoundError as error:
        raise ConfigError(role, name, f"Class {name} could not be found.", hint=error.hint) from error


def undeclared_keys(worker: WorkerConfig, directory: PluginDirectory) -> Iterator[str]:
    """Yield a warning for each setting of a worker's converters that they do not declare.

    A bundled converter whose definition is known only to its own process is not asked.
    """
    for role in CONVERTER_KEYS:
        below = [key for key in worker.originals if key.startswith(f"{role}.") and key != role + VERSION_SUFFIX]
        if not below:
            continue
        plugin = _converter(role, worker, directory)
        if plugin.bundle is None or plugin.definitions is not None:
            known = [f"{role}.{name}" for name in Describer(directory).definition(plugin).names]
            yield from (
                f"{key}: no plugin declares this key{did_you_mean(key, known)}" for key in below if key not in known
            )


class WorkerConfigurations:
    """Lists, creates and deletes the worker configurations of a host. Their contents are read on use."""

    def __init__(self, worker: WorkerConfig, directory: PluginDirectory, configs: ConfigStore) -> None:
        self._worker = worker
        self._directory = directory
        self._configs = configs
        self._folder = ConfigurationFolder(worker.worker_configuration_path)
        self._lock = threading.Lock()

    def list(self) -> list[WorkerConfiguration]:
        """Return all, the default first; unreadable ones have no description."""
        return [self._shown(name) for name in self._folder.names()]

    def find(self, name: str) -> WorkerConfiguration:
        """Return one with its passwords masked; raise NotFoundError if it does not exist."""
        return self._disguised(self._folder.find(name))

    def create(self, configuration: WorkerConfiguration) -> WorkerConfiguration:
        """Validate and store a new one, and return it with its passwords masked.

        Raises ConfigError if it is invalid, ConflictError if its name exists.
        """
        self._check(configuration)
        with self._lock:  # of two concurrent requests with one name, the second is rejected
            self._folder.create(configuration)
        self._warn(configuration)
        return self._disguised(configuration)

    def delete(self, name: str) -> None:
        """Delete one; raise ConflictError while a connector names it."""
        entries = self._configs.snapshot().entries
        users = [each for each, entry in entries.items() if (entry.config.get(CHOICE) or "").strip() == name]
        if users:
            raise ConflictError(
                f"worker configuration {name!r} is that of {', '.join(users)}",
                code="worker_configuration.used",
                hint="delete these connectors first, or let them name another one",
            )
        self._folder.delete(name)

    def check_all(self) -> None:
        """Raise ConfigError if the folder is invalid, and warn about invalid files in it.

        Also warns about settings of the worker's own converters, which all other connectors use, that have no effect.
        """
        self._folder.check()
        for warning in undeclared_keys(self._worker, self._directory):
            log.warning("%s", warning)
        for name in self._folder.names():
            try:
                configuration = self._folder.find(name)
                self._check(configuration)
                self._warn(configuration)
            except ConnectError as error:
                log.warning("%s", error)

    def _disguised(self, configuration: WorkerConfiguration) -> WorkerConfiguration:
        """Mask values that may be passwords, if enabled: those of keys that the worker does not declare."""
        if not self._worker.rest_mask_passwords:
            return configuration
        shown = {
            key: value if self._is_open(key) or has_variable(value) else HIDDEN
            for key, value in configuration.properties.items()
        }
        return replace(configuration, properties=shown)

    def _is_open(self, key: str) -> bool:
        is_of_client = key.startswith(tuple(CLIENT_KEYS)) and is_governed(key)
        return is_of_client or key in self._worker.definition().keys or _PROVIDER_CLASS.fullmatch(key) is not None

    def _shown(self, name: str) -> WorkerConfiguration:
        try:
            return self._folder.find(name)
        except ConnectError:
            return WorkerConfiguration(name, "", {})

    def _check(self, configuration: WorkerConfiguration) -> None:
        """Raise ConfigError for keys, values and converters with which no task could run."""
        try:
            worker = self._worker.governed_by(configuration)
            find_token_providers(worker, self._directory)
            find_converters(worker, self._directory)
            provider_plugins(configuration.properties, self._directory)
        except ConfigError as error:
            message, named = str(error), f"worker configuration {configuration.name!r}"
            text = message if message.startswith(named) else f"{named}: {message}"
            raise ConfigError(text, code=error.code, hint=error.hint) from error

    def _warn(self, configuration: WorkerConfiguration) -> None:
        for key in configuration.idle_keys:
            log.warning("worker configuration %r: %s has no effect there on this host", configuration.name, key)
        for warning in undeclared_keys(self._worker.governed_by(configuration), self._directory):
            log.warning("worker configuration %r: %s", configuration.name, warning)
