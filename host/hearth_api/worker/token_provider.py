"""Token providers supply tokens for Kafka client logins (SASL/OAUTHBEARER)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth_api.plugin import ConnectPlugin


@dataclass(frozen=True)
class OAuthBearerToken:
    """A token that a client presents to a broker; follows Kafka's interface of that name.

    `lifetime_ms` is when the token expires, in milliseconds since 1970. `principal` names the user, and may be empty.
    `extensions` are SASL extensions (RFC 7628); their names consist of letters.
    """

    value: str = field(repr=False)
    lifetime_ms: int
    principal: str = ""
    extensions: Mapping[str, str] = field(default_factory=dict)


class TokenProvider(ConnectPlugin, ABC):
    """Creates or fetches tokens, like a Kafka login callback handler (`AuthenticateCallbackHandler`).

    A client's `sasl.login.callback.handler.class` names it. It runs on the host, which passes its tokens to the
    clients of the tasks; one instance serves all clients with the same settings.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Read the client's settings and its login module's options; called once, before the first token.

        `configs` holds `bootstrap.servers` and the client's `sasl.` keys, except `sasl.jaas.config`, whose options are
        `options`. An exception prevents the client from starting.
        """

    @abstractmethod
    def token(self) -> OAuthBearerToken:
        """Return a token that is valid now.

        Called by one thread at a time, first when a client logs in, and again after three quarters of the token's
        lifetime. If it raises, the host logs the exception and repeats the call; clients keep their token until it
        expires. The host abandons a call that takes longer than 30 seconds.
        """

    def close(self) -> None:
        """Release the provider's resources; called once, when the host stops, not after a kill."""
