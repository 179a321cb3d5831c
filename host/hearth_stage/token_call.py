"""The calls to a token provider in a stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hearth_stage.call import Call, operations

if TYPE_CHECKING:
    from hearth_api.worker import TokenProvider


@dataclass(frozen=True)
class LoadTokenProvider(Call[None], op="token.load"):
    """Creates and configures the provider for later calls."""

    reference: str
    config: dict[str, str] = field(repr=False)
    options: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class GivenToken:
    """A token, its expiry in milliseconds since 1970, the principal it identifies, and SASL extensions."""

    value: str = field(repr=False)
    lifetime_ms: int
    principal: str = ""
    extensions: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, provider: TokenProvider) -> GivenToken:
        """Return a token of a provider; raises ``TypeError`` if it is not a valid token."""
        token = provider.token()
        value, lifetime_ms = getattr(token, "value", None), getattr(token, "lifetime_ms", None)
        if not isinstance(value, str) or not isinstance(lifetime_ms, int):
            raise TypeError(
                f"token() must return an OAuthBearerToken of a text and a whole number, not {type(token).__name__}"
            )
        return cls(value, lifetime_ms, token.principal, dict(token.extensions))


@dataclass(frozen=True)
class AskToken(Call[GivenToken], op="token.get"):
    """Requests a currently valid token."""


TO_STAGE = operations(LoadTokenProvider, AskToken)
