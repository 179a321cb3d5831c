"""What librdkafka tells about clients, asked of a real broker."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pyarrow as pa

from hearth.broker import KafkaBroker
from hearth.kafka.client_statistics import ClientStatistics
from hearth.kafka.consumer import Consumer
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import Producer
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

OFTEN = {"statistics.interval.ms": "100"}


def test_clients_tell_what_went_over_their_connections(broker: KafkaBroker) -> None:
    """A producer of a megabyte that cannot be compressed, and the consumer that reads it; each once."""
    Topics(broker.bootstrap_servers).create("statistics")
    value = pa.array([np.random.default_rng(1).bytes(100_000) for _ in range(10)], pa.binary())
    access = {"bootstrap.servers": broker.bootstrap_servers, **OFTEN}
    with closing(Producer(access)) as producer:
        producer.send(Outgoing("statistics", value), np.arange(10))
        newest = ClientStatistics()

        def has_sent() -> bool:
            nonlocal newest
            producer.poll(20)
            newest = producer.statistics.take() or newest
            return producer.in_flight == 0 and newest.bytes_sent > 1_000_000

        assert eventually(has_sent, TIMEOUT), newest
        assert newest.connections > 0
        assert newest.responses > 0
    consumer = Consumer({**access, "group.id": "statistics", "auto.offset.reset": "earliest"})
    consumer.subscribe(["statistics"])
    told = ClientStatistics()

    def has_read() -> bool:
        nonlocal told
        consumer.poll(20)
        told = consumer.statistics.take() or told
        return told.bytes_received > 1_000_000

    try:
        assert eventually(has_read, TIMEOUT), told
    finally:
        consumer.close()


def test_statistics_without_brokers_are_zero() -> None:
    """Before the first connection."""
    assert ClientStatistics.read(b'{"brokers": {}, "tx": 3}') == ClientStatistics(requests=3)
