"""The offsets of groups at a real broker."""

from __future__ import annotations

import itertools

import pytest
from confluent_kafka import Consumer

from hearth.broker import KafkaBroker
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.group_offset import GroupOffsets, has_members
from hearth.kafka.kafka_error import KafkaError
from hearth_api import TopicPartition

_names = (f"group-{number}" for number in itertools.count())


@pytest.fixture
def name(broker: KafkaBroker) -> str:
    """Provide the name of a group, and of a topic of two partitions."""
    name = next(_names)
    TopicAdmin({"bootstrap.servers": broker.bootstrap_servers}).create(name, 2, 1)
    return name


@pytest.fixture
def offsets(broker: KafkaBroker, name: str) -> GroupOffsets:
    """Provide the offsets of the group."""
    return GroupOffsets({"bootstrap.servers": broker.bootstrap_servers}, name)


def test_offsets_are_altered_deleted_and_forgotten(offsets: GroupOffsets, name: str) -> None:
    """One after the other, and each may be done again."""
    first, second = TopicPartition(name, 0), TopicPartition(name, 1)
    assert offsets.list() == {}
    offsets.alter({first: 5, second: 7})
    assert offsets.list() == {first: 5, second: 7}
    offsets.alter({second: 0})
    offsets.delete([first])
    offsets.delete([first])
    assert offsets.list() == {second: 0}
    offsets.forget_group()
    offsets.forget_group()
    assert offsets.list() == {}


def test_offsets_of_a_group_with_members_cannot_change(broker: KafkaBroker, offsets: GroupOffsets, name: str) -> None:
    """Only its members change them."""
    partition = TopicPartition(name, 0)
    offsets.alter({partition: 5})
    member = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": name})
    try:
        member.subscribe([name])
        while not member.assignment():
            member.poll(0.1)
        with pytest.raises(KafkaError) as altered:
            offsets.alter({partition: 6})
        with pytest.raises(KafkaError) as deleted:
            offsets.delete([partition])
        with pytest.raises(KafkaError) as forgotten:
            offsets.forget_group()
        assert all(has_members(each.value) for each in (altered, deleted, forgotten))
    finally:
        member.close()
    assert offsets.list() == {partition: 5}


def test_refused_offset_change_is_raised(offsets: GroupOffsets) -> None:
    """For example for a partition that does not exist."""
    with pytest.raises(KafkaError) as caught:
        offsets.alter({TopicPartition("no-such-topic", 0): 1})
    assert caught.value.name == "UNKNOWN_TOPIC_OR_PART"
    assert not has_members(caught.value)
