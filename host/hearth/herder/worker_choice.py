"""Which settings of the worker go for a connector: the worker's own, or a worker configuration's that it names."""

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
    """A connector names a worker configuration that is not there, or with which no task could run."""


def worker_for(worker: WorkerConfig, config: Mapping[str, Any], variables: Variables) -> WorkerConfig:
    """Return the worker's settings as they go for the connector with this configuration.

    Raises UnusableConfiguration, which names the connector's own key, where it has none to go by.
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
        told = settings.hidden(str(error))
        raise UnusableConfiguration(CHOICE, name, told, code=error.code, hint=error.hint) from None


class GovernedVariables(Variables):
    """The variables of a worker: its own providers know them, and for a connector those of what it names as well.

    A provider of a worker configuration goes before one of the worker that is called the same. It is opened when it is
    wanted first and stays so, for others that name it, until the host stops.
    """

    def __init__(self, worker: WorkerConfig, directory: PluginDirectory) -> None:
        super().__init__(open_providers(worker.originals, directory))
        self._directory = directory
        self._folder = ConfigurationFolder(worker.worker_configuration_path)
        self._lock = threading.Lock()
        self._opened: dict[Hashable, dict[str, ConfigProvider]] = {}

    def of(self, config: Mapping[str, Any]) -> Variables:
        """Return them; a choice that is none adds none. Raises UnusableConfiguration for a provider that fails."""
        name = config.get(CHOICE) or DEFAULT.name
        try:
            properties = self._folder.find(name.strip()).properties
        except (ConfigError, NotFoundError):
            return self  # whoever goes by it says so
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
    """Raise ConfigError where a converter of a worker is not there, with the nearest names as the hint."""
    for role in CONVERTER_KEYS:
        _converter(role, worker, directory)


def find_token_providers(worker: WorkerConfig, directory: PluginDirectory) -> None:
    """Raise ConfigError where settings of a worker's clients are wrong, or nobody makes their tokens."""
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
    """Yield what is said of settings of a worker's converters that they do not declare.

    A converter of a bundle that tells its keys to nobody but a process of its own is not asked.
    """
    for role in CONVERTER_KEYS:
        below = [key for key in worker.originals if key.startswith(f"{role}.") and key != role + VERSION_SUFFIX]
        if not below:
            continue
        plugin = _converter(role, worker, directory)
        if plugin.bundle is None or plugin.definitions is not None:
            known = [f"{role}.{name}" for name in Describer(directory).definition(plugin).names]
            yield from (
                f"{key}: nobody declares this key{did_you_mean(key, known)}" for key in below if key not in known
            )


class WorkerConfigurations:
    """The worker configurations of a host: listed, made and forgotten. What they say is read when it is needed."""

    def __init__(self, worker: WorkerConfig, directory: PluginDirectory, configs: ConfigStore) -> None:
        self._worker = worker
        self._directory = directory
        self._configs = configs
        self._folder = ConfigurationFolder(worker.worker_configuration_path)
        self._lock = threading.Lock()

    def list(self) -> list[WorkerConfiguration]:
        """Return all, the default first; those that cannot be read have no description."""
        return [self._shown(name) for name in self._folder.names()]

    def find(self, name: str) -> WorkerConfiguration:
        """Return one as users are shown it; raises NotFoundError where there is none."""
        return self._disguised(self._folder.find(name))

    def create(self, configuration: WorkerConfiguration) -> WorkerConfiguration:
        """Keep a new one that has nothing wrong, and return it as users are shown it.

        Raises ConfigError for what has something wrong, ConflictError for a name that is there.
        """
        self._check(configuration)
        with self._lock:  # of two that are made at once under one name, one is refused
            self._folder.create(configuration)
        self._warn(configuration)
        return self._disguised(configuration)

    def delete(self, name: str) -> None:
        """Forget one; raises ConflictError while a connector names it."""
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
        """Raise ConfigError where the folder is none, and warn of what is wrong with files in it.

        Warn as well of what the worker itself, which is chosen by all that name none, says of its converters in vain.
        """
        self._folder.check()
        for told in undeclared_keys(self._worker, self._directory):
            log.warning("%s", told)
        for name in self._folder.names():
            try:
                configuration = self._folder.find(name)
                self._check(configuration)
                self._warn(configuration)
            except ConnectError as error:
                log.warning("%s", error)

    def _disguised(self, configuration: WorkerConfiguration) -> WorkerConfiguration:
        """Hide, where the worker wants passwords hidden, every value that may be one: nobody here declares its key."""
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
            told, named = str(error), f"worker configuration {configuration.name!r}"
            text = told if told.startswith(named) else f"{named}: {told}"
            raise ConfigError(text, code=error.code, hint=error.hint) from error

    def _warn(self, configuration: WorkerConfiguration) -> None:
        for key in configuration.idle_keys:
            log.warning("worker configuration %r: %s has no effect there on this host", configuration.name, key)
        for told in undeclared_keys(self._worker.governed_by(configuration), self._directory):
            log.warning("worker configuration %r: %s", configuration.name, told)
