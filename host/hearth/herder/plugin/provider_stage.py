"""Loads the config providers that a worker's configuration names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hearth.config.confinement_key import AS_HOST
from hearth.config.variable import Variables
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.kept_stage import KeptStage
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
    """Return the variables that the providers of a worker's configuration resolve."""
    return Variables(open_providers(worker, directory))


def open_providers(worker: Mapping[str, str], directory: PluginDirectory) -> dict[str, ConfigProvider]:
    """Return the config providers that a worker's settings name, configured.

    Raises ConfigError for an unknown class, and the error of a provider that rejects its settings.
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
    """Return the provider plugins by name; raise ConfigError for an unknown class.

    A name without a class is ignored, as in Kafka Connect.
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
            raise _provider_error(error) from error

    def look_up(self, path: str, keys: Collection[str]) -> LookedUp:
        """Return the provider's values; raise ConfigError if it rejects the request, PluginError if it fails."""
        try:
            return self.call(LookUp(path, sorted(keys)), ANSWER_SECONDS)
        except RemoteError as error:
            raise _provider_error(error) from error


class StagedProvider(ConfigProvider):
    """Calls a provider of a bundle in its own process (Invariant 6)."""

    def __init__(self, plugin: Plugin, directory: PluginDirectory) -> None:
        self._plugin = plugin
        self._directory = directory
        self._configs: dict[str, str] = {}
        self._stage = KeptStage(self._begin)

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Start the process and configure the provider in it."""
        self._configs = dict(configs)
        self._stage.ready()

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the provider's values for the keys."""
        answer = self._stage.ask(lambda stage: stage.look_up(path, keys or ()))
        return ConfigData(answer.data, answer.ttl)

    def close(self) -> None:
        """End the process, which closes the provider."""
        self._stage.close()

    def _begin(self) -> ProviderStage:
        return ProviderStage(self._plugin, self._directory.environment(self._plugin), self._configs)


def _provider_error(error: PluginError) -> ConnectError:
    """Return a provider's configuration error as a ConfigError with its message; return others unchanged."""
    if isinstance(error, RemoteError) and error.info.kind == "config":
        return ConfigError(error.info.message)
    return error
