"""Clients report a real broker's refusal; they wait for one that restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth.broker import KafkaBroker
from hearth.config.topic_key import topic_groups
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.consumer import Consumer
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.library import ERR_AUTHENTICATION
from hearth.kafka.outgoing import Outgoing
from hearth.kafka.producer import Producer
from hearth.runtime.topic import TopicCreation
from hearth_api import ConnectError
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT

_JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required user_hearth='right';"
ROWS = Outgoing("t", pa.array([b"a"], pa.binary()))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[KafkaBroker, dict[str, str]]]:
    """Provide a broker with a listener that asks for a password, and the settings of a client that knows it."""
    plain, controller, port = reserve_port(), reserve_port(), reserve_port()
    listeners = f"PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},GUARDED://127.0.0.1:{port}"
    settings = {
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{port}",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
        "listener.name.guarded.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.guarded.plain.sasl.jaas.config": _JAAS,
        "connection.failed.authentication.delay.ms": "0",
    }
    client = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "sasl_plaintext",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "hearth",
        "sasl.password": "right",
        "log_level": "0",
    }
    with KafkaBroker(
        tmp_path_factory.mktemp("guarded"), plain, retention_bytes=16 << 20, settings=settings
    ) as running:
        yield running, client


def deliver(producer: Producer) -> None:
    """Wait until nothing is on its way."""
    deadline = time.monotonic() + TIMEOUT
    while producer.in_flight:
        assert time.monotonic() < deadline, "nothing was delivered"
        producer.poll(100)


def ensure(creation: TopicCreation, topic: str) -> None:
    """Request a topic until it exists."""
    deadline = time.monotonic() + TIMEOUT
    while not creation.ensure(topic):
        assert time.monotonic() < deadline, f"{topic} is not there"


def test_a_wrong_password_fails_the_producer(guarded: Any) -> None:
    """librdkafka would retry forever; in Java the task fails, and so it does here."""
    producer = Producer({**guarded[1], "sasl.password": "wrong"})
    producer.send(ROWS, np.array([0]))
    with pytest.raises(KafkaError, match="Authentication failed") as caught:
        deliver(producer)
    assert caught.value.number == ERR_AUTHENTICATION
    producer.close()


def test_a_wrong_mechanism_fails_the_producer(guarded: Any) -> None:
    """The broker names those it has."""
    producer = Producer({**guarded[1], "sasl.mechanisms": "SCRAM-SHA-256"})
    producer.send(ROWS, np.array([0]))
    with pytest.raises(KafkaError, match=r"handshake failed.*PLAIN"):
        deliver(producer)
    producer.close()


def test_a_wrong_password_ends_a_topic_lookup(guarded: Any) -> None:
    """The admin client may have other credentials; no answer would report it."""
    keys = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    creation = TopicCreation(topic_groups(keys), TopicAdmin({**guarded[1], "sasl.password": "wrong"}))
    with pytest.raises(ConnectError, match=r"create/find topic.*Authentication failed"):
        ensure(creation, "t")


def test_a_restarted_broker_is_no_refusal(guarded: Any) -> None:
    """Its stop cuts off handshakes."""
    broker, client = guarded
    producer = Producer({**client, "reconnect.backoff.max.ms": "200"})
    producer.send(ROWS, np.array([0]))
    deliver(producer)
    for _ in range(2):
        broker.kill()
        producer.send(ROWS, np.array([1]))
        producer.poll(500)
        broker.start()
        deliver(producer)
    producer.close()


def test_a_wrong_password_fails_the_consumer(guarded: Any) -> None:
    """Otherwise a sink would be RUNNING forever and read nothing."""
    consumer = Consumer({**guarded[1], "sasl.password": "wrong", "group.id": "g"})
    consumer.subscribe(["t"])
    deadline = time.monotonic() + TIMEOUT
    with pytest.raises(KafkaError, match="Authentication failed") as caught:  # noqa: PT012 -- some poll of many raises
        while time.monotonic() < deadline:
            consumer.poll(100)
    assert caught.value.number == ERR_AUTHENTICATION
    consumer.close(1)
