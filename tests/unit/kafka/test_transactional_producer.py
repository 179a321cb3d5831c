"""The producer with transactions, against a real broker and read back by another client."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import confluent_kafka
import numpy as np
import pyarrow as pa
import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.library import ERR_FENCED
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import DeliveryReport
from hearth.kafka.transactional_producer import TransactionalProducer, TransactionFailed
from tests.timeouts import TIMEOUT

Open = Callable[..., TransactionalProducer]
NewTopic = Callable[..., str]
Committed = Callable[[str], list["bytes | None"]]

_ids = itertools.count()


@pytest.fixture
def open_producer(broker: KafkaBroker) -> Iterator[Open]:
    """Open producers, each with an id of its own unless one is named, that have claimed it."""
    opened: list[TransactionalProducer] = []

    def new(name: str | None = None, **config: str) -> TransactionalProducer:
        settings = {key.replace("_", "."): value for key, value in config.items()}
        name = name or f"id-{next(_ids)}"
        own = {"bootstrap.servers": broker.bootstrap_servers, "linger.ms": "1", "transactional.id": name}
        producer = TransactionalProducer({**own, **settings})
        opened.append(producer)
        producer.claim(lambda: False)
        return producer

    yield new
    for producer in opened:
        producer.close()


@pytest.fixture
def committed(broker: KafkaBroker) -> Iterator[Committed]:
    """Read what those see of a topic who see committed rows only, up to its end."""
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "committed",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )

    def read(topic: str) -> list[bytes | None]:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        found: list[bytes | None] = []
        while (message := consumer.poll(TIMEOUT)) is not None:
            if message.error() is not None:
                assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF, message.error()
                return found
            found.append(message.value())
        raise AssertionError(f"{topic} has no end")

    yield read
    consumer.close()


def rows(topic: str, *values: bytes) -> Outgoing:
    """Return rows for a topic."""
    return Outgoing(topic, pa.array(values, pa.binary()))


def send(producer: TransactionalProducer, outgoing: Outgoing) -> None:
    """Send rows, numbered from 0 on, and wait until they are answered for."""
    assert producer.send(outgoing, np.arange(len(outgoing.value))) is None
    deliver(producer, lambda: not producer.in_flight)


def deliver(producer: TransactionalProducer, is_over: Callable[[], bool]) -> list[DeliveryReport]:
    """Take in reports until something is so."""
    found: list[DeliveryReport] = []
    deadline = time.monotonic() + TIMEOUT
    while not is_over():
        assert time.monotonic() < deadline, "it is not answered for"
        found += producer.poll(20)
    return found


def commit(producer: TransactionalProducer) -> list[DeliveryReport]:
    """Commit on another thread while the loop continues."""
    done: Future[None] = producer.commit(producer.wake)
    found = deliver(producer, done.done)
    done.result()
    return found


def test_rows_become_visible_at_the_commit(open_producer: Open, new_topic: NewTopic, committed: Committed) -> None:
    """Those of a transaction together, including offset rows, which have no reports."""
    topic, offsets = new_topic(), new_topic()
    producer = open_producer()
    send(producer, rows(topic, b"1", b"2"))
    was_open = producer.is_open
    assert committed(topic) == []
    producer.send_offsets([rows(offsets, b"{}")])
    assert commit(producer) == []
    assert (was_open, producer.is_open) == (True, False)
    assert (committed(topic), committed(offsets)) == ([b"1", b"2"], [b"{}"])


def test_rows_name_their_partition_from_the_first_one_on(
    open_producer: Open, new_topic: NewTopic, committed: Committed
) -> None:
    """Of a topic that the client does not know yet as well, and the next transaction's as a batch."""
    topic = new_topic(partitions=2)
    producer = open_producer()
    for values in ([b"1", b"2"], [b"3", b"4"]):
        both = Outgoing(topic, pa.array(values, pa.binary()), partition=np.array([0, 1], np.int32))
        send(producer, both)
        commit(producer)
    assert committed(topic) == [b"1", b"3"]


def test_aborted_rows_are_never_visible(open_producer: Open, new_topic: NewTopic, committed: Committed) -> None:
    """Neither acknowledged nor in-flight ones; the next transaction is visible."""
    topic = new_topic()
    producer = open_producer()
    send(producer, rows(topic, b"1"))
    kept = rows(topic, b"2")
    producer.send(kept, np.arange(1))
    producer.abort()
    assert (producer.is_open, producer.in_flight) == (False, 0)
    send(producer, rows(topic, b"3"))
    commit(producer)
    assert committed(topic) == [b"3"]


def test_close_aborts_an_open_transaction(open_producer: Open, new_topic: NewTopic, committed: Committed) -> None:
    """At once: readers need not wait for the transaction timeout."""
    topic = new_topic()
    producer = open_producer()
    send(producer, rows(topic, b"1"))
    producer.close()
    other = open_producer()
    send(other, rows(topic, b"2"))
    commit(other)
    assert committed(topic) == [b"2"]


def test_claim_fences_an_earlier_producer(open_producer: Open, new_topic: NewTopic, committed: Committed) -> None:
    """Its commit raises an error."""
    topic = new_topic()
    first = open_producer("shared")
    send(first, rows(topic, b"first"))
    second = open_producer("shared")
    with pytest.raises(KafkaError) as caught:
        commit(first)
    assert caught.value.number == ERR_FENCED
    send(second, rows(topic, b"second"))
    commit(second)
    assert committed(topic) == [b"second"]


def test_an_expired_transaction_raises_its_reason(open_producer: Open, new_topic: NewTopic) -> None:
    """The broker aborts it; later sends raise the reason."""
    topic = new_topic()
    producer = open_producer(transaction_timeout_ms="1000")
    send(producer, rows(topic, b"1"))
    kept = [rows(topic, b"%d" % number) for number in range(200)]
    with pytest.raises(KafkaError) as caught:  # noqa: PT012  -- whoever hears of it first
        for each in kept:
            producer.send(each, np.arange(1))
            deliver(producer, lambda: not producer.in_flight)
            threading.Event().wait(0.1)
    assert caught.value.number == ERR_FENCED


def test_a_time_of_1970_is_kept(open_producer: Open, new_topic: NewTopic, read: Callable[..., list]) -> None:  # type: ignore[type-arg]
    """The client that can write it exists before the transaction starts, also if that is not the first."""
    topic = new_topic()
    producer = open_producer()
    send(producer, rows(topic, b"plain"))
    commit(producer)
    dated = Outgoing(topic, pa.array([b"old"], pa.binary()), timestamp=np.zeros(1, np.int64))
    send(producer, dated)
    commit(producer)
    plain, old = (message for message in read(topic, 2))
    assert plain.value == b"plain"
    assert (old.value, old.timestamp[1]) == (b"old", 0)


def test_close_abandons_a_commit_without_broker(own_broker: KafkaBroker) -> None:
    """The end of a run does not wait for a broker that does not come back."""
    producer = TransactionalProducer({"bootstrap.servers": own_broker.bootstrap_servers, "transactional.id": "alone"})
    producer.claim(lambda: False)
    send(producer, rows("topic", b"1"))
    own_broker.kill()
    commit = producer.commit(producer.wake)
    begin = time.monotonic()
    producer.close()
    assert isinstance(commit.exception(0), TransactionFailed)
    assert time.monotonic() - begin < 6
