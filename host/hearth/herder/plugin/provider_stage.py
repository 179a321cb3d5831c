"""The config providers of a worker: what its configuration names, loaded and ready to be asked."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping
from typing import Any

from hearth.config.confinement_key import AS_HOST
from hearth.config.variable import Variables
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.stage import ANSWER_SECONDS, PluginProcess, PluginStage
from hearth.isolation.environment import Environment
from hearth_api import ConfigError, ConfigType, ConnectError, NotFoundError, PluginError
from hearth_api.java import parse_type
from hearth_api.worker import ConfigData, ConfigProvider
from hearth_execution.failure import RemoteError
from hearth_execution.load import load_class
from hearth_stage.provider_call import LoadProvider, LookedUp, LookUp

PROVIDERS = "config.providers"


def open_variables(worker: Mapping[str, str], directory: PluginDirectory) -> Variables:
    """Return what resolves the variables that the providers of a worker's configuration know."""
    return Variables(open_providers(worker, directory))


def open_providers(worker: Mapping[str, str], directory: PluginDirectory) -> dict[str, ConfigProvider]:
    """Return the providers that settings of a worker name, ready to be asked.

    Raises ConfigError for a class that is not there, and what a provider raises that does not take its settings.
    """
    opened: dict[str, ConfigProvider] = {}
    try:
        for name, plugin in provider_plugins(worker, directory).items():
            opened[name] = _open(f"{PROVIDERS}.{name}", plugin, worker, directory)
    except BaseException:
        Variables(opened).close()
        raise
    return opened


def provider_plugins(worker: Mapping[str, str], directory: PluginDirectory) -> dict[str, Plugin]:
    """Return the plugins behind the names of providers; raises ConfigError for a class that is not there.

    A name without a class stands for nothing, as in Kafka Connect.
    """
    names = parse_type(PROVIDERS, worker.get(PROVIDERS, ""), ConfigType.LIST)
    keys = {name: f"{PROVIDERS}.{name}.class" for name in dict.fromkeys(names)}
    return {name: _plugin(key, worker[key], directory) for name, key in keys.items() if key in worker}


def _plugin(key: str, class_name: str, directory: PluginDirectory) -> Plugin:
    try:
        return directory.plugin(class_name.strip(), None, PluginType.CONFIG_PROVIDER)
    except NotFoundError as error:
        raise ConfigError(key, class_name, f"Class {class_name} could not be found.", hint=error.hint) from error


def _open(key: str, plugin: Plugin, worker: Mapping[str, str], directory: PluginDirectory) -> ConfigProvider:
    inside = plugin.bundle is None
    provider: ConfigProvider = load_class(plugin.reference)() if inside else StagedProvider(plugin, directory)
    prefix = f"{key}.param."
    try:
        provider.configure({name[len(prefix) :]: worker[name] for name in worker if name.startswith(prefix)})
    except ConnectError as error:
        provider.close()
        raise ConfigError(f"{key}: {error}", hint=error.hint) from error
    return provider


class ProviderStage(PluginStage):
    """The process of one configured provider."""

    def __init__(self, plugin: Plugin, environment: Environment, config: Mapping[str, str]) -> None:
        super().__init__(PluginProcess(environment.confined(AS_HOST), plugin.class_name))
        try:
            self.call(LoadProvider(plugin.reference, dict(config)), ANSWER_SECONDS)
        except PluginError as error:
            self.close()
            raise _as_said(error) from error

    def look_up(self, path: str, keys: Collection[str]) -> LookedUp:
        """Return what the provider finds; raises ConfigError with its own words, PluginError where it has none."""
        try:
            return self.call(LookUp(path, sorted(keys)), ANSWER_SECONDS)
        except RemoteError as error:
            raise _as_said(error) from error


class StagedProvider(ConfigProvider):
    """Asks a provider of a bundle in its own process (Invariant 6).

    The process lives as long as the host, so that a provider may keep what it has fetched. One that ended, or did not
    answer in time, is followed by another when the next value is wanted.
    """

    def __init__(self, plugin: Plugin, directory: PluginDirectory) -> None:
        self._plugin = plugin
        self._directory = directory
        self._configs: dict[str, str] = {}
        self._lock = threading.Lock()
        self._stage: ProviderStage | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Start the process, and have the provider configured there."""
        self._configs = dict(configs)
        self._ready()

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Ask the provider for the values of keys."""
        stage = self._ready()
        try:
            answer = stage.look_up(path, keys or ())
        except PluginError as error:
            if not isinstance(error, RemoteError):
                stage.close()
            raise
        return ConfigData(answer.data, answer.ttl)

    def close(self) -> None:
        """End the process, which closes the provider."""
        with self._lock:
            stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()

    def _ready(self) -> ProviderStage:
        """Return the process, after starting one where there is none."""
        with self._lock:
            if self._stage is None or not self._stage.is_alive:
                environment = self._directory.environment(self._plugin)
                self._stage = ProviderStage(self._plugin, environment, self._configs)
            return self._stage


def _as_said(error: PluginError) -> ConnectError:
    """Return the error for what a provider refuses in its own words; any other stays what it is."""
    if isinstance(error, RemoteError) and error.info.kind == "config":
        return ConfigError(error.info.message)
    return error
