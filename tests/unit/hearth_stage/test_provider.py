"""A config or token provider in a stage."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from hearth_api import ConfigError
from hearth_api.worker import ConfigData, ConfigProvider, OAuthBearerToken, TokenProvider
from hearth_stage.form import codec_of
from hearth_stage.provider import StageConfigProvider, StageTokenProvider
from hearth_stage.provider_call import LoadProvider, LookedUp, LookUp
from hearth_stage.token_call import AskToken, GivenToken, LoadTokenProvider

CLOSED: list[str] = []


class Sample(ConfigProvider):
    """Returns its configured value."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Accept a value, or raise."""
        if not configs:
            raise ConfigError("nothing to tell")
        self.value = configs["value"]

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """Return the value for every key."""
        return ConfigData(dict.fromkeys(keys or (), f"{path}{self.value}"), 5)

    def close(self) -> None:
        """Record the close."""
        CLOSED.append("closed")


def test_loaded_provider_answers_and_is_closed() -> None:
    """Once, at the end; a stage without one has nothing to close."""
    StageConfigProvider().end()
    stage = StageConfigProvider()
    stage.load(LoadProvider(f"{__name__}:Sample", {"value": "v"}))
    assert stage.get(LookUp("p", ["a", "b"])) == LookedUp({"a": "pv", "b": "pv"}, 5)
    stage.end()
    assert CLOSED[-1] == "closed"


def test_error_of_configure_is_raised() -> None:
    """The host does not start a worker without it."""
    with pytest.raises(ConfigError, match="nothing to tell"):
        StageConfigProvider().load(LoadProvider(f"{__name__}:Sample", {}))


class SampleTokens(TokenProvider):
    """Creates a token from its configuration."""

    def configure(self, configs: Mapping[str, Any], options: Mapping[str, str]) -> None:
        """Accept a scope and a user, or raise."""
        if "user" not in options:
            raise ConfigError("nobody to log in")
        self._user, self._scope = options["user"], configs["sasl.oauthbearer.scope"]

    def token(self) -> OAuthBearerToken:
        """Return the token."""
        return OAuthBearerToken(f"secret of {self._user}", 5, self._user, {"scope": self._scope})

    def close(self) -> None:
        """Record the close."""
        CLOSED.append("tokens closed")


class WrongTokens(SampleTokens):
    """Returns something that is not a token."""

    def token(self) -> Any:
        """Return a text alone."""
        return "secret"


def loaded(name: str) -> StageTokenProvider:
    """Return a stage that has loaded a provider."""
    stage = StageTokenProvider()
    stage.load(LoadTokenProvider(f"{__name__}:{name}", {"sasl.oauthbearer.scope": "all"}, {"user": "ann"}))
    return stage


def test_loaded_token_provider_answers_and_is_closed() -> None:
    """Once, at the end; a stage without one has nothing to close."""
    StageTokenProvider().end()
    stage = loaded("SampleTokens")
    given = stage.get(AskToken())
    assert given == GivenToken("secret of ann", 5, "ann", {"scope": "all"})
    codec = codec_of(GivenToken)
    assert codec.read(codec.write(given)) == given
    stage.end()
    assert CLOSED[-1] == "tokens closed"


def test_error_of_a_token_provider_is_raised() -> None:
    """No client starts without it."""
    with pytest.raises(ConfigError, match="nobody to log in"):
        StageTokenProvider().load(LoadTokenProvider(f"{__name__}:SampleTokens", {}, {}))


def test_invalid_token_is_rejected_without_being_shown() -> None:
    """It may be secret; messages do not show tokens either."""
    with pytest.raises(TypeError, match=r"^token\(\) must return an OAuthBearerToken .*, not str$"):
        loaded("WrongTokens").get(AskToken())
    shown = repr(
        (
            LoadTokenProvider("r", {"a": "secret"}, {"b": "secret"}),
            GivenToken("secret", 1),
            OAuthBearerToken("secret", 1),
        )
    )
    assert "secret" not in shown
