"""The cache of a provider's token, and its renewal before it expires."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hearth.herder.plugin.token_keeper import TokenKeeper
from hearth_api import ConfigError, ConnectError
from hearth_stage.token_call import GivenToken
from tests.timeouts import TIMEOUT, eventually


class Provider:
    """Returns numbered tokens, fails, or hangs."""

    def __init__(self) -> None:
        self.seconds = 60.0
        self.error: Exception | None = None
        self.free = threading.Event()
        self.free.set()
        self.asked = 0

    def __call__(self) -> GivenToken:
        self.asked += 1
        assert self.free.wait(TIMEOUT)
        if self.error is not None:
            raise self.error
        return GivenToken(f"token {self.asked}", int((time.time() + self.seconds) * 1000))


@pytest.fixture
def provider() -> Iterator[Provider]:
    """Provide a provider, which stops hanging after the test."""
    found = Provider()
    yield found
    found.free.set()


@pytest.fixture
def keeper(provider: Provider) -> Iterator[TokenKeeper]:
    """Provide a cache with short timeouts."""
    found = TokenKeeper("the provider", provider, timeout=0.3, least=0.05)
    yield found
    found.close()


def test_all_callers_share_a_token(provider: Provider, keeper: TokenKeeper) -> None:
    """Even concurrent ones."""
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: keeper.token().value, range(32)))
    assert found == {"token 1"}
    assert provider.asked == 1


def test_a_token_is_renewed_before_it_expires(provider: Provider, keeper: TokenKeeper) -> None:
    """While it is being requested: no caller waits for the renewal, and none gets an expired token."""
    provider.seconds = 0.4
    keeper.token()
    values, longest = set(), 0.0
    for _ in range(60):
        began = time.monotonic()
        token = keeper.token()
        longest = max(longest, time.monotonic() - began)
        values.add(token.value)
        assert token.lifetime_ms > (time.time() - 0.05) * 1000
        time.sleep(0.02)
    assert len(values) >= 3


def test_an_unused_token_is_not_renewed(provider: Provider, keeper: TokenKeeper) -> None:
    """A deleted connector costs nothing."""
    provider.seconds = 0.1
    keeper.token()
    time.sleep(0.5)
    assert provider.asked == 1
    assert keeper.token().value == "token 2"


def test_an_unused_provider_is_released(provider: Provider) -> None:
    """With its thread, once its last token has expired; a later request reopens it."""
    events: list[str] = []
    keeper = TokenKeeper("the provider", provider, let_go=lambda: events.append("let go"), idle=0.1)
    provider.seconds = 0.3
    before = threading.active_count()
    assert keeper.token().value == "token 1"
    time.sleep(0.2)
    assert events == []
    assert eventually(lambda: events == ["let go"] and threading.active_count() <= before, TIMEOUT)
    assert keeper.token().value == "token 2"
    keeper.close()
    assert eventually(lambda: threading.active_count() <= before, TIMEOUT)
    assert events == ["let go"]


def test_a_failing_provider_is_called_again(
    provider: Provider, keeper: TokenKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    """Its message is raised at once and logged once; the earlier token is used until it expires."""
    provider.seconds = 1.0
    assert keeper.token().value == "token 1"
    provider.error = ConfigError("the vault is sealed", hint="unseal it")
    with caplog.at_level(logging.INFO):
        began = time.monotonic()
        while time.monotonic() - began < 0.9:
            assert keeper.token().value == "token 1"
            time.sleep(0.02)
        assert eventually(lambda: _fails(keeper), TIMEOUT)
        with pytest.raises(ConnectError, match="the provider provides no token: the vault is sealed") as caught:
            keeper.token()
        assert caught.value.hint == "unseal it"
        provider.error = None
        assert eventually(lambda: not _fails(keeper), TIMEOUT)
    assert caplog.text.count("the vault is sealed") == 1
    assert "provides tokens again" in caplog.text


def _fails(keeper: TokenKeeper) -> bool:
    try:
        keeper.token()
    except ConnectError:
        return True
    return False


@pytest.mark.parametrize("error", [RuntimeError("broken"), ValueError("broken")])
def test_any_error_of_a_provider_is_raised(provider: Provider, keeper: TokenKeeper, error: Exception) -> None:
    """The provider's thread continues."""
    provider.error = error
    with pytest.raises(ConnectError, match=f"provides no token: {type(error).__name__}: broken"):
        keeper.token()
    provider.error = None
    assert eventually(lambda: not _fails(keeper), TIMEOUT)


def test_a_provider_that_hangs_blocks_callers_only_briefly(provider: Provider, keeper: TokenKeeper) -> None:
    """Not at all while there is a valid token; without one the error has the waiting time."""
    provider.seconds = 1.2
    assert keeper.token().value == "token 1"
    provider.free.clear()
    began = time.monotonic()
    while time.monotonic() - began < 1.1:
        before = time.monotonic()
        assert keeper.token().value == "token 1"
        assert time.monotonic() - before < 0.2
        time.sleep(0.05)
    time.sleep(0.2)
    with pytest.raises(ConnectError, match=r"the provider provided no token within 0\.3 s"):
        keeper.token()
    provider.free.set()
    assert eventually(lambda: not _fails(keeper), TIMEOUT)


def test_an_expired_token_is_reported(provider: Provider, keeper: TokenKeeper) -> None:
    """The clocks of the two machines may differ."""
    provider.seconds = -300
    with pytest.raises(ConnectError, match="the token expired 300 s ago by the clock of this machine"):
        keeper.token()


def test_closing_fails_waiting_callers(provider: Provider) -> None:
    """At once."""
    keeper = TokenKeeper("the provider", provider, timeout=TIMEOUT)
    provider.free.clear()
    threading.Timer(0.2, keeper.close).start()
    began = time.monotonic()
    with pytest.raises(ConnectError, match="the host is stopping"):
        keeper.token()
    assert time.monotonic() - began < TIMEOUT / 2
