"""A config provider in its stage: loaded once, then asked repeatedly."""

from __future__ import annotations

from hearth_api.worker import ConfigProvider
from hearth_execution.load import load_class
from hearth_stage.provider_call import LoadProvider, LookedUp, LookUp


class StageProvider:
    """Answers the ``provider.*`` calls of the protocol."""

    def __init__(self) -> None:
        self._provider: ConfigProvider | None = None

    def load(self, call: LoadProvider) -> None:
        """Create and configure the provider; later calls use this instance."""
        provider: ConfigProvider = load_class(call.reference)()
        provider.configure(call.config)
        self._provider = provider

    def get(self, call: LookUp) -> LookedUp:
        """Return the values that the provider finds."""
        assert self._provider is not None, "the protocol loads a provider before it is asked"
        found = self._provider.get(call.path, call.keys)
        return LookedUp(dict(found.data), found.ttl)

    def end(self) -> None:
        """Close the provider."""
        if self._provider is not None:
            self._provider.close()
