"""Closing a consumer at any moment while it joins a group."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.client import consumer_config
from hearth.kafka.commit_queue import CommitAnswer
from hearth.kafka.consumer import Consumer
from hearth.kafka.membership import GroupIdentity
from hearth_api import TopicPartition
from tests.crash.pipeline import pass_time
from tests.crash.process import freeze
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

ROUNDS = 8


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.5])
def test_closing_during_an_assignment_returns(topics: Topics, seconds: float) -> None:
    """An assignment during the close is ignored: librdkafka would wait for its own response for ever."""
    topic = f"close-{int(seconds * 10)}"
    topics.create(topic)
    topics.produce(topic, [Record(None, b"value")])
    for number in range(ROUNDS):
        worker = {"bootstrap.servers": topics.bootstrap_servers}
        config = consumer_config(worker, {}, f"{topic}-{number}").config
        config.pop("max.poll.records", None)
        consumer = Consumer(config, GroupIdentity(f"{topic}-{number}", 0))
        consumer.subscribe([topic])
        consumer.poll(0)
        pass_time(seconds)  # librdkafka joins the group; the assignment waits for a poll of the wrapper
        closing = threading.Thread(target=consumer.close, daemon=True)
        closing.start()
        closing.join(TIMEOUT)
        assert not closing.is_alive()


class Committing:
    """A listener that commits one offset when its partitions are revoked, and waits briefly for the response."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.answers: list[CommitAnswer] = []

    def on_assign(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Start at the beginning."""
        return {}

    def on_assigned(self) -> None:
        """Do nothing."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Commit."""
        self._consumer.commit(dict.fromkeys(partitions, 1), 1)
        self.answers += self._consumer.commit_answers(500)


def test_closing_is_bounded_while_the_broker_does_not_respond(own_broker: KafkaBroker) -> None:
    """It waits for the commit and the group no longer than the caller's timeout."""
    Topics(own_broker.bootstrap_servers).create("frozen")
    Topics(own_broker.bootstrap_servers).produce("frozen", [Record(None, b"value")])
    config = consumer_config({"bootstrap.servers": own_broker.bootstrap_servers}, {}, "frozen").config
    consumer = Consumer(config, GroupIdentity("frozen", 0))
    listener = Committing(consumer)
    consumer.listen(listener)
    consumer.subscribe(["frozen"])
    assert eventually(lambda: bool(consumer.poll(100)), TIMEOUT)
    assert own_broker.pid is not None
    freeze(own_broker.pid)
    try:
        closing = threading.Thread(target=consumer.close, args=[2.0], daemon=True)
        closing.start()
        closing.join(30)  # an unreachable coordinator keeps librdkafka itself waiting for minutes
        assert not closing.is_alive()
    finally:
        os.kill(own_broker.pid, signal.SIGCONT)
    assert listener.answers == []
