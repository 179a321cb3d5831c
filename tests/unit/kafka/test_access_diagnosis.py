"""Refusals are reported with the wrong key; ``tests/integration/kafka`` uses real brokers."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import pytest

import hearth.kafka.access_diagnosis as module
from hearth.kafka.access_diagnosis import find_mistake
from hearth.kafka.library import ERR_AUTHENTICATION
from hearth.kafka.listener_probe import BrokerListener

DOWN = (-187, "1/1 brokers are down")
REFUSED = (
    ERR_AUTHENTICATION,
    "sasl_ssl://h:1/bootstrap: SASL authentication error: Invalid username or password (after 3ms in state AUTH_REQ)",
)
CUT_OFF = (ERR_AUTHENTICATION, "sasl_ssl://h:1/1: SASL PLAIN handshake failed: Local: Broker transport failure")
ALERT = (-195, "ssl://h:1/1: Receive failed: SSL routines::ssl/tls alert unknown ca: SSL alert number 48 (after 1ms)")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, int], BrokerListener | None]:
    """Provide a listener for each address; record the requested ones."""
    found: dict[tuple[str, int], BrokerListener | None] = {}
    monkeypatch.setattr(module, "probe", lambda host, port, _: found.setdefault((host, port), None))
    return found


def test_brokers_that_are_away_are_no_mistake(asked: dict[tuple[str, int], BrokerListener | None]) -> None:
    """Nor is a handshake that was cut off; three of many servers are asked, by their addresses as Kafka has them."""
    servers = "SSL://h:1, [::1]:2,nonsense,c:3,d:4"
    assert find_mistake({"bootstrap.servers": servers}, [DOWN, CUT_OFF]) is None
    assert list(asked) == [("h", 1), ("::1", 2)]


@pytest.mark.parametrize(
    ("config", "listener", "fact"),
    [
        (
            {},
            BrokerListener(False, True),
            "x.security.protocol='PLAINTEXT': the listener at h:1 speaks SASL_PLAINTEXT",
        ),
        ({"security.protocol": "ssl"}, BrokerListener(False, None), "speaks PLAINTEXT or SASL_PLAINTEXT"),
        (
            {"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN"},
            BrokerListener(False, True, ("SCRAM-SHA-256", "SCRAM-SHA-512")),
            "x.sasl.mechanism='PLAIN': the listener at h:1 accepts SCRAM-SHA-256, SCRAM-SHA-512",
        ),
    ],
)
def test_a_wrong_protocol_is_reported_with_the_right_one(
    asked: dict[tuple[str, int], BrokerListener | None], config: Mapping[str, str], listener: BrokerListener, fact: str
) -> None:
    """With the key as the user wrote it."""
    asked["h", 1] = listener
    found = find_mistake({"bootstrap.servers": "h:1", **config}, [DOWN], lambda key: f"x.{key}")
    assert found is not None
    assert fact in str(found)
    assert found.reason == str(found).partition("=")[2]


@pytest.mark.parametrize(
    ("config", "failure", "text"),
    [
        (
            {"sasl.username": "ann", "sasl.password": "geheim"},
            REFUSED,
            "sasl.jaas.config: brokers refuse the user 'ann': SASL authentication error: Invalid username or password",
        ),
        ({}, REFUSED, "sasl.jaas.config: brokers refuse the client: SASL authentication error: Invalid username or"),
        ({}, ALERT, "ssl.keystore.location: brokers require a client certificate, and none is set (unknown ca)"),
        (
            {"ssl.keystore.location": "/a.p12", "ssl.keystore.password": "geheim"},
            ALERT,
            "ssl.keystore.location='/a.p12': brokers refuse the client's certificate (unknown ca)",
        ),
        (
            {"ssl.certificate.pem": "geheim", "ssl.key.pem": "geheim"},
            ALERT,
            "ssl.keystore.certificate.chain: brokers refuse the client's certificate (unknown ca)",
        ),
    ],
)
def test_a_refusal_names_its_key(
    asked: dict[tuple[str, int], BrokerListener | None], config: Mapping[str, str], failure: tuple[int, str], text: str
) -> None:
    """Never with a password; a file is named."""
    found = find_mistake({"bootstrap.servers": "h:1", **config}, [DOWN, failure])
    assert found is not None
    assert str(found).startswith(text)
    assert text.startswith(found.key)
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    assert "geheim" not in f"{found} {found.hint}"
