"""A config or token provider in its stage: loaded once, then asked repeatedly."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from hearth_api.worker import ConfigProvider, TokenProvider
from hearth_execution.load import load_class
from hearth_stage.provider_call import LoadProvider, LookedUp, LookUp
from hearth_stage.token_call import AskToken, GivenToken, LoadTokenProvider

P = TypeVar("P", ConfigProvider, TokenProvider)


class _Provider(Generic[P]):
    """One provider, from its load to its end."""

    def __init__(self) -> None:
        self._loaded: P | None = None

    def _load(self, reference: str, *settings: Any) -> None:
        """Create and configure the provider; later calls use this instance."""
        provider: P = load_class(reference)()
        provider.configure(*settings)
        self._loaded = provider

    @property
    def _provider(self) -> P:
        assert self._loaded is not None, "the protocol loads a provider before it is asked"
        return self._loaded

    def end(self) -> None:
        """Close the provider, if there is one."""
        if self._loaded is not None:
            self._loaded.close()


class StageConfigProvider(_Provider[ConfigProvider]):
    """Answers the ``provider.*`` calls of the protocol."""

    def load(self, call: LoadProvider) -> None:
        """Load the provider."""
        self._load(call.reference, call.config)

    def get(self, call: LookUp) -> LookedUp:
        """Return the values that the provider finds."""
        found = self._provider.get(call.path, call.keys)
        return LookedUp(dict(found.data), found.ttl)


class StageTokenProvider(_Provider[TokenProvider]):
    """Answers the ``token.*`` calls of the protocol."""

    def load(self, call: LoadTokenProvider) -> None:
        """Load the provider."""
        self._load(call.reference, call.config, call.options)

    def get(self, call: AskToken) -> GivenToken:
        """Return the provider's token."""
        return GivenToken.of(self._provider)
