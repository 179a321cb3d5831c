"""Closing a consumer at any moment of its joining a group."""

from __future__ import annotations

import threading

import pytest

from hearth.runtime.client import consumer_config
from hearth.runtime.kafka.consumer import Consumer
from tests.crash.pipeline import pass_time
from tests.peer.topic import Record, Topics

ROUNDS = 8


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.5])
def test_a_consumer_closes_whatever_its_group_is_about_to_give_it(topics: Topics, seconds: float) -> None:
    """An assignment that comes while it closes is not taken: librdkafka would wait for ever for its own answer."""
    topic = f"close-{int(seconds * 10)}"
    topics.create(topic)
    topics.produce(topic, [Record(None, b"value")])
    for number in range(ROUNDS):
        worker = {"bootstrap.servers": topics.bootstrap_servers}
        config = consumer_config(worker, {}, f"{topic}-{number}", 0).config
        config.pop("max.poll.records", None)
        consumer = Consumer(config)
        consumer.subscribe([topic])
        consumer.poll(0)
        pass_time(seconds)  # the group is joined behind the consumer's back; what it assigns waits for a poll
        closing = threading.Thread(target=consumer.close, daemon=True)
        closing.start()
        closing.join(20)
        assert not closing.is_alive()
