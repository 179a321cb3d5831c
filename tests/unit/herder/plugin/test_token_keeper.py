"""A token is kept, and the next one is there before it ends."""

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
    """Makes tokens that are numbered, fails, or hangs."""

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
    """Provide a provider, which hangs no more after the test."""
    found = Provider()
    yield found
    found.free.set()


@pytest.fixture
def keeper(provider: Provider) -> Iterator[TokenKeeper]:
    """Provide what keeps its tokens, and waits little."""
    found = TokenKeeper("the provider", provider, timeout=0.3, least=0.05)
    yield found
    found.close()


def test_one_token_is_for_all(provider: Provider, keeper: TokenKeeper) -> None:
    """However many ask at the same time."""
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: keeper.token().value, range(32)))
    assert found == {"token 1"}
    assert provider.asked == 1


def test_the_next_token_comes_before_the_last_ends(provider: Provider, keeper: TokenKeeper) -> None:
    """As long as somebody asks: nobody waits for it, and none is given out that has ended."""
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


def test_nobody_asks_a_provider_whose_tokens_nobody_wants(provider: Provider, keeper: TokenKeeper) -> None:
    """A connector that was deleted costs nothing."""
    provider.seconds = 0.1
    keeper.token()
    time.sleep(0.5)
    assert provider.asked == 1
    assert keeper.token().value == "token 2"


def test_a_provider_of_no_use_is_let_go(provider: Provider) -> None:
    """After its last token has ended, with its thread, and once; whoever asks later has it begin again."""
    said: list[str] = []
    keeper = TokenKeeper("the provider", provider, let_go=lambda: said.append("let go"), idle=0.1)
    provider.seconds = 0.3
    before = threading.active_count()
    assert keeper.token().value == "token 1"
    time.sleep(0.2)
    assert said == []
    assert eventually(lambda: said == ["let go"] and threading.active_count() <= before, TIMEOUT)
    assert keeper.token().value == "token 2"
    keeper.close()
    assert eventually(lambda: threading.active_count() <= before, TIMEOUT)
    assert said == ["let go"]


def test_a_provider_that_fails_is_asked_again(
    provider: Provider, keeper: TokenKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    """In its own words, told at once and logged once; what it has given before holds until that ends."""
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
def test_whatever_a_provider_raises_is_told(provider: Provider, keeper: TokenKeeper, error: Exception) -> None:
    """The thread that asks it goes on."""
    provider.error = error
    with pytest.raises(ConnectError, match=f"gives no token: {type(error).__name__}: broken"):
        keeper.token()
    provider.error = None
    assert eventually(lambda: not _fails(keeper), TIMEOUT)


def test_a_provider_that_hangs_holds_up_nobody_for_long(provider: Provider, keeper: TokenKeeper) -> None:
    """Nobody at all while there is a token; without one it is told for how long nothing came."""
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


def test_a_token_that_came_too_late_is_told(provider: Provider, keeper: TokenKeeper) -> None:
    """The clocks of two machines differ, and one of them is this one's."""
    provider.seconds = -300
    with pytest.raises(ConnectError, match="the token expired 300 s ago by the clock of this machine"):
        keeper.token()


def test_who_waits_as_the_host_stops_is_told(provider: Provider) -> None:
    """At once."""
    keeper = TokenKeeper("the provider", provider, timeout=TIMEOUT)
    provider.free.clear()
    threading.Timer(0.2, keeper.close).start()
    began = time.monotonic()
    with pytest.raises(ConnectError, match="the host is stopping"):
        keeper.token()
    assert time.monotonic() - began < TIMEOUT / 2
