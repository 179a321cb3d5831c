"""A sink's consumer whose own commit, delayed in librdkafka, gets it fenced by its group."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.client import consumer_config
from hearth.kafka.consumer import Consumer
from hearth.kafka.membership import GroupIdentity
from hearth_api import TopicPartition
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT

HERE = TopicPartition("fenced", 0)
SESSION = 6.0
"""The shortest that a broker allows by default."""
ROUNDS = 6
EVERY_SECONDS = 0.3


class Member:
    """A listener that records assignments and revocations."""

    def __init__(self, servers: str) -> None:
        config = {"consumer.override.session.timeout.ms": str(int(SESSION * 1000))}
        self.consumer = Consumer(
            consumer_config({"bootstrap.servers": servers}, config, "fenced").config, GroupIdentity("fenced", 0)
        )
        self.consumer.listen(self)
        self.consumer.subscribe([HERE.topic])
        self.history: list[str] = []
        self.values: list[bytes | None] = []

    def on_assign(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Resume from the committed offset."""
        self.history.append("assign")
        return {}

    def on_assigned(self) -> None:
        """Do nothing."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Record it."""
        self.history.append("lose" if lost else "revoke")

    def poll(self, seconds: float) -> None:
        """Poll for some time."""
        give_up_at = time.monotonic() + seconds
        while time.monotonic() < give_up_at:
            for part in self.consumer.poll(50):
                self.values += part.value.to_pylist()

    def await_value(self, topics: Topics, value: bytes) -> None:
        """Write a value and poll until it arrives."""
        topics.produce(HERE.topic, [Record(None, value)])
        give_up_at = time.monotonic() + TIMEOUT
        while value not in self.values:
            assert time.monotonic() < give_up_at, self.history
            self.poll(0.1)


@pytest.mark.slow
def test_a_consumer_survives_its_own_late_commit(own_broker: KafkaBroker, caplog: pytest.LogCaptureFixture) -> None:
    """The session expires before the broker is back; the delayed commit is sent after it.

    How fast the broker starts varies on a busy machine, so commits are sent repeatedly until it is back, and the
    whole scenario is repeated.
    """
    topics = Topics(own_broker.bootstrap_servers)
    topics.create(HERE.topic)
    member = Member(own_broker.bootstrap_servers)
    try:
        for number in range(ROUNDS):
            member.await_value(topics, b"before %d" % number)
            own_broker.kill()
            member.poll(SESSION / 2)
            with ThreadPoolExecutor(1) as other:
                starting = other.submit(own_broker.start)
                while not wait([starting], EVERY_SECONDS).done:
                    member.consumer.commit({HERE: number}, number)
            starting.result()
            member.await_value(topics, b"after %d" % number)
            if "the group fenced this member" in caplog.text:
                break
        else:
            pytest.fail(f"the group fenced no member in {ROUNDS} rounds: {member.history}")
        assert member.history[-2:] == ["lose", "assign"] or member.history[-3:] == ["assign", "revoke", "assign"]
    finally:
        member.consumer.close()
