"""A range of a topic is read once, and leaves nothing behind."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from hearth.broker import KafkaBroker
from hearth.kafka.topic_range import TopicRange
from hearth_api import ConnectError, NotFoundError
from tests.peer.topic import Record, Topics
from tests.reservation import reserve_port


def config(broker: KafkaBroker) -> dict[str, str]:
    """Return the settings of a consumer."""
    return {"bootstrap.servers": broker.bootstrap_servers, "group.id": "range", "client.id": "x"}


def test_all_partitions_are_read_to_their_end(broker: KafkaBroker, topics: Topics) -> None:
    """With headers and timestamps; also behind the marker of a transaction."""
    topics.create("range", 3)
    sent = [Record(b"k", str(each).encode(), (("h", None),), each % 2, 1_700_000_000_000) for each in range(5)]
    topics.produce("range", sent)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "range"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("range", b"last", partition=0)
    producer.commit_transaction()
    with TopicRange(config(broker), "range") as found:
        assert found.bounds == {0: (0, 5), 1: (0, 2), 2: (0, 0)}
        assert found.count == 7
        read = list(found.read({0: 1, 1: 0, 2: 0}))
        again = list(found.read({0: 5}))
    assert sorted((each.partition, each.value) for each in read) == [
        (0, b"2"),
        (0, b"4"),
        (0, b"last"),
        (1, b"1"),
        (1, b"3"),
    ]
    assert (read[0].headers, read[0].timestamp) == ([("h", None)], 1_700_000_000_000)
    assert again == []


def test_following_waits_for_new_records(broker: KafkaBroker, topics: Topics) -> None:
    """Until its time is over."""
    topics.create("followed")
    with TopicRange(config(broker), "followed") as found:
        following = found.read({0: 0}, seconds=20, follows=True)
        topics.produce("followed", [Record(None, b"new")])
        assert next(following).value == b"new"
        assert list(found.read({0: 1}, seconds=0.3, follows=True)) == []


def test_an_unknown_topic_offers_the_nearest_and_is_not_created(broker: KafkaBroker, topics: Topics) -> None:
    """Although brokers create topics that are asked for."""
    topics.create("existing-range")
    with pytest.raises(NotFoundError, match="no topic 'exsting-range', did you mean 'existing-range'"):
        TopicRange(config(broker), "exsting-range")
    assert "exsting-range" not in topics.names()


def test_brokers_that_do_not_answer_are_an_error_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the time limit."""
    monkeypatch.setattr("hearth.kafka.topic_range.LOOK_SECONDS", 0.5)
    with pytest.raises(ConnectError) as caught:
        TopicRange({"bootstrap.servers": f"127.0.0.1:{reserve_port()}", "group.id": "range"}, "any")
    assert caught.value.code == "environment.kafka"
