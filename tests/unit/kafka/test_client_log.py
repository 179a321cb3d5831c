"""The log of a librdkafka client."""

from __future__ import annotations

import logging
import time

import pytest

from hearth.kafka.consumer import Consumer
from hearth.kafka.producer import Producer
from tests.timeouts import TIMEOUT

NOWHERE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize("kind", ["producer", "consumer"])
def test_unavailable_broker_is_logged(
    kind: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """By a logger with a level, and not directly on stderr."""
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


def test_a_log_line_ends_the_wait_of_a_producer(caplog: pytest.LogCaptureFixture) -> None:
    """An idle loop waits for a minute."""
    producer = Producer(NOWHERE)
    began = time.monotonic()
    producer.poll(int(2 * TIMEOUT * 1000))
    producer.close()
    assert caplog.records[0].getMessage().startswith("FAIL: ")
    assert time.monotonic() - began < TIMEOUT
