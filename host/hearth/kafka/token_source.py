"""Token source of a client: a provider and its options, as one string in the client's settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SOURCE = "sasl.hearth.token.source"
"""Key of the token source in a client's settings; librdkafka has no such key."""
HANDLERS = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
"""Java's keys for a client's token provider."""


@dataclass(frozen=True)
class TokenSource:
    """A provider's class or alias, the options of the login module, and the settings of the client."""

    class_name: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)

    def text(self) -> str:
        """Return it as text, which is equal for clients with the same tokens."""
        return json.dumps([self.class_name, dict(self.options), dict(self.configs)], sort_keys=True)

    @classmethod
    def of(cls, text: str) -> TokenSource:
        """Read what ``text`` returned."""
        return cls(*json.loads(text))
