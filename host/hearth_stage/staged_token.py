"""A token provider in its stage: loaded once, then asked repeatedly."""

from __future__ import annotations

from hearth_api.worker import TokenProvider
from hearth_execution.load import load_class
from hearth_stage.token_call import AskToken, GivenToken, LoadTokenProvider


class StageTokenProvider:
    """Answers the ``token.*`` calls of the protocol."""

    def __init__(self) -> None:
        self._provider: TokenProvider | None = None

    def load(self, call: LoadTokenProvider) -> None:
        """Create and configure the provider; later calls use this instance."""
        provider: TokenProvider = load_class(call.reference)()
        provider.configure(call.config, call.options)
        self._provider = provider

    def get(self, call: AskToken) -> GivenToken:
        """Return the provider's token."""
        assert self._provider is not None, "the protocol loads a provider before it is asked"
        return GivenToken.of(self._provider)

    def end(self) -> None:
        """Close the provider."""
        if self._provider is not None:
            self._provider.close()
