"""Token providers: they log Kafka clients in with tokens (SASL/OAUTHBEARER)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth_api.plugin import ConnectPlugin


@dataclass(frozen=True)
class OAuthBearerToken:
    """What a client shows a broker, follows Kafka's interface of that name.

    `lifetime_ms` is when the token ends, in milliseconds since 1970. `principal` names who logs in, and may be empty.
    `extensions` are SASL extensions (RFC 7628), by letters as names.
    """

    value: str = field(repr=False)
    lifetime_ms: int
    principal: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)


class TokenProvider(ConnectPlugin, ABC):
    """Makes or fetches tokens, as a login callback handler of Kafka's does (`AuthenticateCallbackHandler`).

    A client names it by `sasl.login.callback.handler.class`. It runs on the host, which hands its tokens to the
    clients of the tasks; one instance serves all clients with the same settings.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Take the client's settings and the options of its login module; called once, before the first token.

        `configs` holds `bootstrap.servers` and the client's keys that begin with `sasl.`, without `sasl.jaas.config`,
        whose options are `options`. An exception keeps the client from starting.
        """

    @abstractmethod
    def token(self) -> OAuthBearerToken:
        """Return a token that is valid now.

        Called by one thread at a time, first when a client wants to log in, and again when three quarters of the
        token's life have passed. An exception is logged and the call repeated; clients keep the token that they have
        until it ends. The host gives up a call that takes longer than 30 seconds.
        """

    def close(self) -> None:
        """Release what the provider holds; called once, when the host stops, not after a kill."""
