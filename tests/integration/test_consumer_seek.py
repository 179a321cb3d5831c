"""Seeking in a newly assigned partition while the broker responds slowly."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.consumer import Consumer
from hearth_api import TopicPartition
from tests.crash.pipeline import pass_time
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT

STANDSTILL = 0.5
COUNT = 3_000


class Seeking:
    """A listener that seeks as soon as possible, while the broker is suspended."""

    def __init__(self, broker: KafkaBroker, topic: str, reset: str) -> None:
        self._broker, self._partition = broker, TopicPartition(topic, 0)
        self.values: list[bytes | None] = []
        self.consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": topic,
                "enable.auto.commit": "false",
                "auto.offset.reset": reset,
                "max.partition.fetch.bytes": "2000",
                "queued.max.messages.kbytes": "4",
                "queued.min.messages": "1",
            }
        )
        self.consumer.listen(self)
        self.consumer.subscribe([topic])

    def poll_until(self, value: bytes) -> None:
        """Poll until a value arrives."""
        give_up_at = time.monotonic() + TIMEOUT
        while value not in self.values[-5000:] and time.monotonic() < give_up_at:
            self.values += [each for part in self.consumer.poll(20) for each in part.value.to_pylist()]

    def on_assign(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Have no committed offset."""
        return self.consumer.committed(partitions)

    def on_assigned(self) -> None:
        """Seek while librdkafka queries the broker on its own thread."""
        pid = self._broker.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(STANDSTILL, os.kill, [pid, signal.SIGCONT]).start()
        pass_time(STANDSTILL / 5)
        self.consumer.seek({self._partition: 8})

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Do nothing."""


@pytest.mark.parametrize("reset", ["earliest", "latest"])
def test_a_seek_is_not_overridden_by_auto_offset_reset(own_broker: KafkaBroker, reset: str) -> None:
    """librdkafka's own lookup of the beginning or end would move there when its response arrives after the seek."""
    topics = Topics(own_broker.bootstrap_servers)
    topics.create(reset)
    values = [b"%d" % number for number in range(COUNT)]
    topics.produce(reset, [Record(None, value) for value in values])
    seeking = Seeking(own_broker, reset, reset)
    try:
        seeking.poll_until(values[-1])
        topics.produce(reset, [Record(None, b"last")])
        seeking.poll_until(b"last")
    finally:
        seeking.consumer.close()
    assert seeking.values == [*values[8:], b"last"]
