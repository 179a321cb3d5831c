"""What a client's tokens are made of: a provider and what it is told, as one text among the client's settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

SOURCE = "sasl.hearth.token.source"
"""The key of a client's settings that names the source of its tokens; librdkafka has none of that name."""
HANDLERS = ("sasl.login.callback.handler.class", "sasl.client.callback.handler.class")
"""The keys of Java's by which a client names who makes its tokens."""


@dataclass(frozen=True)
class TokenSource:
    """A provider by its class or alias, the options of the login module, and the settings of the client."""

    class_name: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    configs: Mapping[str, str] = field(default_factory=dict, repr=False)

    def text(self) -> str:
        """Return it as a text, the same for all clients whose tokens are the same."""
        return json.dumps([self.class_name, dict(self.options), dict(self.configs)], sort_keys=True)

    @classmethod
    def of(cls, text: str) -> TokenSource:
        """Read what ``text`` returned."""
        return cls(*json.loads(text))
