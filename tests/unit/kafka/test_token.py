"""Clients of both libraries log in with tokens of registered providers."""

from __future__ import annotations

import ast
import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hearth
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.consumer import Consumer
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.producer import Producer
from hearth.kafka.token import NoToken, TokenDesk, authorized, checked, desk
from hearth.kafka.token_source import SOURCE, TokenSource
from hearth_api import ConnectError
from hearth_stage.token_call import GivenToken
from tests.timeouts import TIMEOUT, eventually

TOKENS = {
    "bootstrap.servers": "127.0.0.1:1",
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "OAUTHBEARER",
    SOURCE: TokenSource("Mine", {"key": "geheim"}).text(),
}


def lasting(seconds: float, value: str = "abc.geheim") -> GivenToken:
    """Return a token that expires after a number of seconds."""
    return GivenToken(value, int((time.time() + seconds) * 1000), "ann", {"scope": "all"})


class Giver:
    """Returns tokens, or an error, and counts its calls."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = seconds
        self.asked: list[str] = []
        self.error: Exception | None = None
        self.threads: set[str] = set()

    def __call__(self, source: str) -> GivenToken:
        self.asked.append(source)
        self.threads.add(threading.current_thread().name)
        if self.error is not None:
            raise self.error
        return lasting(self.seconds)


@pytest.fixture
def giver() -> Iterator[Giver]:
    """Offer tokens to the clients of this process."""
    found = Giver()
    withdraw = desk.offer(found)
    yield found
    withdraw()


@pytest.mark.parametrize("make", [Producer, lambda config: Consumer({**config, "group.id": "g"}), TopicAdmin])
def test_clients_request_tokens_at_creation_and_before_expiry(
    giver: Giver, make: Callable[[dict[str, str]], object]
) -> None:
    """On a thread of librdkafka, whether polled or not."""
    giver.seconds = 2.0
    client = make(TOKENS)
    try:
        assert eventually(lambda: len(giver.asked) >= 3, TIMEOUT)
    finally:
        if isinstance(client, (Producer, Consumer)):
            client.close()
    assert set(giver.asked) == {TOKENS[SOURCE]}
    assert any(name != threading.current_thread().name for name in giver.threads)


def test_a_client_without_a_token_reports_the_reason(giver: Giver, caplog: pytest.LogCaptureFixture) -> None:
    """confluent-kafka's at creation, others in a poll; secrets are not shown."""
    giver.error = NoToken("the vault is sealed")
    with pytest.raises(NoToken, match=r"^the vault is sealed$"):
        TopicAdmin(TOKENS)
    producer = Producer(TOKENS)

    def polls() -> None:
        while True:
            producer.poll(50)

    with caplog.at_level(logging.DEBUG), pytest.raises(KafkaError, match="the vault is sealed"):
        polls()
    producer.close()
    giver.error = RuntimeError("an oversight")  # nothing passes through C
    with caplog.at_level(logging.DEBUG):
        other = Producer(TOKENS)
        assert eventually(lambda: "an oversight" in caplog.text, TIMEOUT)
        other.close()
    assert "geheim" not in caplog.text


def test_the_last_registered_provider_is_called_first() -> None:
    """Then the others; the first error is raised."""
    own = TokenDesk()
    with pytest.raises(NoToken, match="this process has no token provider"):
        own.token("s")
    first, second = Giver(), Giver()
    own.offer(first)
    withdraw = own.offer(second)
    assert own.token("s").principal == "ann"
    assert (first.asked, second.asked) == ([], ["s"])
    second.error = NoToken("second")
    own.token("s")
    first.error = NoToken("first")
    with pytest.raises(ConnectError, match=r"^second$"):
        own.token("s")
    withdraw()
    with pytest.raises(ConnectError, match=r"^first$"):
        own.token_by(own.digest("s"))


def test_expiry_of_the_last_token_is_known() -> None:
    """A little early, as brokers may see it sooner; a source without tokens has not expired."""
    own, giver = TokenDesk(), Giver(600.0)
    own.offer(giver)
    assert not own.has_ended("s")
    assert not own.has_ended(None)
    own.token("s")
    assert not own.has_ended("s")
    giver.seconds = 1.0
    own.token("s")
    assert own.has_ended("s")
    assert not own.has_ended("t")


def test_an_expired_token_is_refused() -> None:
    """By this machine's clock, which may be wrong."""
    with pytest.raises(NoToken, match="the token expired 90 s ago by the clock of this machine") as caught:
        checked(lasting(-90))
    assert "clock" in str(caught.value.hint)
    assert checked(lasting(5)).principal == "ann"


def test_clients_without_token_source_request_no_token(giver: Giver) -> None:
    """Their settings stay unchanged."""
    assert authorized({"bootstrap.servers": "h:1"}) == {"bootstrap.servers": "h:1"}
    assert giver.asked == []


PROBES = {"sasl.py": 1, "store_check.py": 1}
"""Clients that are made to ask librdkafka what it can do, and never connect."""


def test_every_confluent_kafka_client_is_authorized() -> None:
    """All are created from settings that went through ``authorized``."""
    bare: list[str] = []
    for path in Path(hearth.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        imports = [each for each in ast.walk(tree) if isinstance(each, ast.ImportFrom)]
        theirs = {
            name.name
            for each in imports
            if (each.module or "").startswith("confluent_kafka")
            for name in each.names
            if name.name in ("AdminClient", "Consumer", "Producer")
        }
        for call in (each for each in ast.walk(tree) if isinstance(each, ast.Call)):
            function = call.func
            name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
            is_theirs = name in theirs or ast.unparse(function).startswith("confluent_kafka.")
            is_client = is_theirs and name in ("AdminClient", "Consumer", "Producer")
            if is_client and not ast.unparse(call.args[0]).startswith("authorized("):
                bare.append(path.name)
    assert sorted(bare) == sorted(PROBES)
