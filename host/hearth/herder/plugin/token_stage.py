"""The token providers of a host: what its clients and those of its tasks name, loaded when a token is wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from hearth.config.confinement_key import AS_HOST
from hearth.discovery import Plugin, PluginType
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.kept_stage import KeptStage
from hearth.herder.plugin.stage import PluginProcess, PluginStage
from hearth.herder.plugin.token_keeper import ANSWER_SECONDS, TokenKeeper
from hearth.isolation.environment import Environment
from hearth.kafka.token_source import HANDLERS, SOURCE, TokenSource
from hearth_api import ConfigError, ConnectError, NotFoundError
from hearth_api.worker import TokenProvider
from hearth_execution.load import load_class
from hearth_stage.token_call import AskToken, GivenToken, LoadTokenProvider


class TokenProviders:
    """Gives the tokens of sources, each from a provider of its own, which begins with the first; used by any thread.

    A provider of the host is asked in its process, one of a bundle in one of its own (Invariant 6).
    """

    def __init__(self, directory: PluginDirectory) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._is_closed = False

    def token(self, source: str) -> GivenToken:
        """Return a token; raises ConfigError where there is no such provider, ConnectError where it gives none."""
        return self._of(source).keeper.token()

    def close(self) -> None:
        """Ask no provider any more, and close those that were."""
        with self._lock:
            opened, self._opened, self._is_closed = self._opened, {}, True
        for each in opened.values():
            each.keeper.close()
            each.end()

    def _of(self, source: str) -> _Opened:
        with self._lock:
            if (found := self._opened.get(source)) is not None:
                return found
        wanted = TokenSource.of(source)
        opened = _open(_plugin(wanted, self._directory), wanted, self._directory)
        with self._lock:
            if self._is_closed:
                raise ConnectError("the host stops and gives no more tokens", code="client.token")
            return self._opened.setdefault(source, opened)


def find_token_provider(
    settings: Mapping[str, str], directory: PluginDirectory, name: Callable[[str], str] = str
) -> None:
    """Raise ConfigError where a client's settings name a provider that is not there.

    ``name`` returns a key as the user wrote it.
    """
    if (source := settings.get(SOURCE)) is not None:
        _plugin(TokenSource.of(source), directory, name)


def _plugin(source: TokenSource, directory: PluginDirectory, name: Callable[[str], str] = str) -> Plugin:
    try:
        return directory.plugin(source.class_name, None, PluginType.TOKEN_PROVIDER)
    except NotFoundError as error:
        key = next((each for each in HANDLERS if each in source.configs), HANDLERS[0])
        raise ConfigError(
            f"{name(key)}: no token provider is called {source.class_name!r}",
            code="client.unsupported",
            hint=f"put the bundle that has it on plugin.path; {error.hint}",
        ) from error


class _Opened:
    """A provider, which is loaded and configured by the thread that asks it first."""

    def __init__(self, name: str, ask: Callable[[], GivenToken], end: Callable[[], None]) -> None:
        self.keeper = TokenKeeper(name, ask, let_go=end)
        self.end = end


def _open(plugin: Plugin, source: TokenSource, directory: PluginDirectory) -> _Opened:
    name = f"the token provider {plugin.class_name}"
    if plugin.bundle is None:
        inside = _ProviderInside(plugin, source)
        return _Opened(name, inside.token, inside.close)
    kept = KeptStage(lambda: TokenStage(plugin, directory.environment(plugin), source))
    return _Opened(name, lambda: kept.ask(TokenStage.token), kept.close)


class _ProviderInside:
    """A provider of the host's own packages."""

    def __init__(self, plugin: Plugin, source: TokenSource) -> None:
        self._plugin = plugin
        self._source = source
        self._provider: TokenProvider | None = None

    def token(self) -> GivenToken:
        """Return a token; the provider begins with the first."""
        if self._provider is None:
            provider: TokenProvider = load_class(self._plugin.reference)()
            provider.configure(self._source.configs, self._source.options)
            self._provider = provider
        return GivenToken.of(self._provider)

    def close(self) -> None:
        """Close the provider; another token begins with another."""
        provider, self._provider = self._provider, None
        if provider is not None:
            provider.close()


class TokenStage(PluginStage):
    """The process of one configured provider."""

    def __init__(self, plugin: Plugin, environment: Environment, source: TokenSource) -> None:
        super().__init__(PluginProcess(environment.confined(AS_HOST), plugin.class_name))
        try:
            self.insist(
                LoadTokenProvider(plugin.reference, dict(source.configs), dict(source.options)), ANSWER_SECONDS
            )
        except BaseException:
            self.close()
            raise

    def token(self) -> GivenToken:
        """Return a token; raises PluginError with the provider's own words, or where its process lets it down."""
        return self.insist(AskToken(), ANSWER_SECONDS)
