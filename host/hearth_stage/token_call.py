"""What a stage is asked of a token provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hearth_stage.call import Call, operations

if TYPE_CHECKING:
    from hearth_api.worker import TokenProvider


@dataclass(frozen=True)
class LoadTokenProvider(Call[None], op="token.load"):
    """Creates and configures the provider that is asked from now on."""

    reference: str
    config: dict[str, str] = field(repr=False)
    options: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class GivenToken:
    """A token, when it ends in milliseconds since 1970, who logs in by it, and SASL extensions."""

    value: str = field(repr=False)
    lifetime_ms: int
    principal: str = ""
    extensions: dict[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, provider: TokenProvider) -> GivenToken:
        """Return a token of a provider; raises ``TypeError`` where that returns none that can be one."""
        token = provider.token()
        value, lifetime_ms = getattr(token, "value", None), getattr(token, "lifetime_ms", None)
        if not isinstance(value, str) or not isinstance(lifetime_ms, int):
            raise TypeError(
                f"token() must return an OAuthBearerToken of a text and a whole number, not {type(token).__name__}"
            )
        return cls(value, lifetime_ms, token.principal, dict(token.extensions))


@dataclass(frozen=True)
class AskToken(Call[GivenToken], op="token.get"):
    """Asks for a token that is valid now."""


TO_STAGE = operations(LoadTokenProvider, AskToken)
