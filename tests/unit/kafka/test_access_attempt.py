"""A test client reports why its settings cannot work."""

from __future__ import annotations

import time

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka import access_attempt
from hearth.kafka.access_attempt import AccessAttempt, AdvertisedUnreachable, advertised, find_access_mistake
from hearth_api import ConfigError
from tests.reservation import reserve_port


def test_brokers_that_answer_are_known(broker: KafkaBroker) -> None:
    """There is nothing to say of settings that work."""
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    assert AccessAttempt(settings).ask(10.0) == broker.cluster_id
    assert find_access_mistake(settings, 10.0) is None


def test_brokers_that_are_away_are_no_mistake() -> None:
    """They may come back; the attempt ends after the given time."""
    settings = {"bootstrap.servers": f"127.0.0.1:{reserve_port()}"}
    began = time.monotonic()
    assert find_access_mistake(settings, 1.0) is None
    assert time.monotonic() - began < 20
    attempt = AccessAttempt(settings)
    assert attempt.ask(1.0) is None
    assert "Connection refused" in attempt.reason


def test_a_mistake_names_the_key_as_the_user_wrote_it(broker: KafkaBroker) -> None:
    """For a wrong protocol, and for settings that librdkafka refuses."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "security.protocol": "SSL"}
    mistake = find_access_mistake(settings, 20.0, lambda key: f"producer.{key}")
    assert str(mistake).startswith("producer.security.protocol='SSL': the listener at")
    with pytest.raises(ConfigError, match="librdkafka refuses these client settings"):
        AccessAttempt({"no.such": "1"})


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (
            "localhost:26908/1: Connect to ipv4#127.0.0.1:26908 failed: Connection refused (after 0ms)",
            ("localhost", 26908),
        ),
        ("sasl_ssl://inner:9092/2: Failed to resolve 'inner:9092': Name or service not known", ("inner", 9092)),
        ("ssl://[fd00::1]:9092/12: Connect to ipv6#[fd00::1]:9092 failed: No route to host", ("fd00::1", 9092)),
        ("ssl://10.0.0.1:9092/3: Connection setup timed out in state CONNECT (after 30028ms)", ("10.0.0.1", 9092)),
        ("ssl://h:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused", None),
        ("h:9092/1: Disconnected: connection closed by peer", None),
        ("1/1 brokers are down", None),
    ],
)
def test_advertised_addresses_are_distinguished_from_bootstrap_addresses(
    text: str, address: tuple[str, int] | None
) -> None:
    """By the broker ids, which are known only from other brokers."""
    assert advertised([text, text]) == ([] if address is None else [address])


def test_an_unreachable_advertised_address_is_an_error(broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only if brokers answer and none is reachable twice: brokers that stop are merely unavailable."""
    monkeypatch.setattr(access_attempt, "_PAUSE_SECONDS", 0.01)
    host, port = broker.bootstrap_servers.split(":")
    nowhere, there = ("127.0.0.1", reserve_port()), (host, int(port))
    AccessAttempt({"bootstrap.servers": f"127.0.0.1:{reserve_port()}"})._check_advertised([nowhere])
    attempt = AccessAttempt({"bootstrap.servers": broker.bootstrap_servers}, lambda key: f"admin.{key}")
    for addresses in ([], [nowhere, there]):
        attempt._check_advertised(addresses)
    with pytest.raises(AdvertisedUnreachable, match=rf"^admin\.bootstrap\.servers='\S+' answers, .*:{nowhere[1]}, "):
        attempt._check_advertised([nowhere])
