"""The token providers that clients of a host and its tasks name, loaded on first use."""

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
    """Provides the tokens of each source from its own provider, which the first request loads. Thread-safe.

    A provider installed with the host runs in the host's process, one of a bundle in its own (Invariant 6).
    """

    def __init__(self, directory: PluginDirectory) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._is_closed = False

    def token(self, source: str) -> GivenToken:
        """Return a token; raise ConfigError for an unknown provider, ConnectError if it provides none."""
        return self._of(source).keeper.token()

    def close(self) -> None:
        """Stop calling providers, and close them."""
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
                raise ConnectError("the host is stopping and provides no more tokens", code="client.token")
            return self._opened.setdefault(source, opened)


def find_token_provider(
    settings: Mapping[str, str], directory: PluginDirectory, name: Callable[[str], str] = str
) -> None:
    """Raise ConfigError if a client's settings name an unknown token provider.

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
            f"{name(key)}: no token provider is named {source.class_name!r}",
            code="client.unsupported",
            hint=f"put its bundle on plugin.path; {error.hint}",
        ) from error


class _Opened:
    """A provider that the thread of its first call loads and configures."""

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
    """A provider from the host's own packages."""

    def __init__(self, plugin: Plugin, source: TokenSource) -> None:
        self._plugin = plugin
        self._source = source
        self._provider: TokenProvider | None = None

    def token(self) -> GivenToken:
        """Return a token; the first call loads the provider."""
        if self._provider is None:
            provider: TokenProvider = load_class(self._plugin.reference)()
            provider.configure(self._source.configs, self._source.options)
            self._provider = provider
        return GivenToken.of(self._provider)

    def close(self) -> None:
        """Close the provider; the next token loads it again."""
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
        """Return a token; raise PluginError with the provider's message, or if its process fails."""
        return self.insist(AskToken(), ANSWER_SECONDS)
