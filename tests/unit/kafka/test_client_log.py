"""What a client of librdkafka says by itself."""

from __future__ import annotations

import logging
import time

import pytest

from hearth.kafka.consumer import Consumer
from hearth.kafka.producer import Producer
from tests.timeouts import TIMEOUT

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_broker_that_is_away_is_told_in_the_log(
    kind: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """By a logger with a level, and not past it on the error output."""
    client = Producer(NOWHERE) if kind == "producer" else Consumer({**NOWHERE, "group.id": "g"})
    deadline = time.monotonic() + TIMEOUT
    while not caplog.records and time.monotonic() < deadline:
        client.poll(20)
    client.close()
    first = caplog.records[0]
    assert (first.name, first.levelno) == (f"librdkafka.{kind}", logging.ERROR)
    assert first.getMessage().startswith("FAIL: ")
    assert "127.0.0.1:1" in first.getMessage()
    assert capfd.readouterr().err == ""


def test_wait_of_a_producer_ends_with_what_it_has_to_say(caplog: pytest.LogCaptureFixture) -> None:
    """A loop that has nothing to do waits for a minute."""
    producer = Producer(NOWHERE)
    began = time.monotonic()
    producer.poll(int(2 * TIMEOUT * 1000))
    producer.close()
    assert caplog.records[0].getMessage().startswith("FAIL: ")
    assert time.monotonic() - began < TIMEOUT
