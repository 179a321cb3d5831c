"""The consumer of columns, against a real broker whose topics another client filled."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from hearth.kafka.c_object import partition_list
from hearth.kafka.kafka_error import KafkaError
from hearth.kafka.library import ERR_REVOKE_PARTITIONS, library
from hearth_api import TopicPartition
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT
from tests.unit.kafka.member import Join, Member, NewTopic, filled, poll_until


def test_ten_thousand_rows_keep_their_order(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """Every row of a partition comes once and in order, however many a poll returns."""
    values = [f"value {row}".encode() * (row % 7) for row in range(10_000)]
    member = join(filled(topics, new_topic(), *values), group=group)
    poll_until(lambda: len(member.rows) >= len(values), member)
    assert member.values == values
    assert [offset for _, _, offset, _, _ in member.rows] == list(range(len(values)))


def test_poll_returns_at_most_the_maximum(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """``max.poll.records`` limits the records of a put."""
    member = join(filled(topics, new_topic(), *[b"x"] * 50), group=group)
    deadline = time.monotonic() + TIMEOUT
    while len(member.rows) < 50 and time.monotonic() < deadline:
        before = len(member.rows)
        member.poll(most=7)
        assert len(member.rows) - before <= 7
    assert len(member.rows) == 50


def test_regular_expression_subscribes_to_whole_names(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """A subscription that begins with ``^`` names topics by pattern."""
    topic = filled(topics, new_topic(), b"a")
    member = join(f"^({topic[:-1]}[{topic[-1]}])$", group=group)
    poll_until(lambda: member.values == [b"a"], member)
    assert {assigned.topic for assigned in member.assigned} == {topic}


def test_group_continues_at_committed_offsets(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """A partition without a commit is missing from the result."""
    topic = filled(topics, new_topic(2), b"a", b"b", b"c")
    here, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    member = join(topic, group=group)
    poll_until(lambda: len(member.rows) == 3, member)
    assert member.consumer.committed([here, other]) == {}
    assert member.commit({here: 2}, 7) == {}
    assert member.consumer.committed([here, other]) == {here: 2}
    member.consumer.close()
    successor = join(topic, group=group)
    poll_until(lambda: successor.values == [b"c"], successor)


def test_refused_commit_is_answered_with_its_partitions(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """So that it is not taken for done."""
    topic = filled(topics, new_topic(), b"a")
    nowhere = TopicPartition(f"{topic}-not", 7)
    member = join(topic, group=group)
    poll_until(lambda: len(member.rows) == 1, member)
    refused = member.commit({nowhere: 1})
    assert {partition: error.name for partition, error in refused.items()} == {nowhere: "UNKNOWN_TOPIC_OR_PART"}


def test_listener_sets_the_start_offset(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """Nothing before it is read, and a seek right after the assignment is no error."""
    topic = filled(topics, new_topic(), *[b"%d" % number for number in range(10)])
    member = join(topic, group=group)
    member.begin = {TopicPartition(topic, 0): 7}
    poll_until(lambda: len(member.rows) == 3, member)
    assert member.values == [b"7", b"8", b"9"]


def test_seek_right_after_an_assignment_is_waited_for(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """librdkafka begins to read on another thread, and refuses to seek before it has."""
    topic = filled(topics, new_topic(), *[b"%d" % number for number in range(10)])
    member = join(topic, group=group)
    member.on_assigned = lambda: member.consumer.seek({TopicPartition(topic, 0): 8})  # type: ignore[method-assign]
    poll_until(lambda: b"9" in member.values, member)
    assert member.values == [b"8", b"9"]


def test_seek_rereads_records(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """Reading continues at the offset, and fetched records are dropped."""
    topic = filled(topics, new_topic(), *[b"%d" % number for number in range(100)])
    member = join(topic, group=group)
    deadline = time.monotonic() + TIMEOUT
    while not member.rows and time.monotonic() < deadline:
        member.poll(most=5)
    member.consumer.seek({TopicPartition(topic, 0): 1})
    member.rows.clear()
    poll_until(lambda: len(member.rows) >= 99, member)
    assert [offset for _, _, offset, _, _ in member.rows] == list(range(1, 100))


def test_seek_of_a_partition_that_is_not_assigned_is_an_error(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """An offset for somebody else's partition is not silently ignored."""
    topic = filled(topics, new_topic(), b"a")
    member = join(topic, group=group)
    poll_until(lambda: len(member.rows) == 1, member)
    with pytest.raises(KafkaError):
        member.consumer.seek({TopicPartition(topic, 5): 0}, wait_ms=300)


def test_paused_partition_is_silent_until_it_is_resumed(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """Also for records that were fetched before; other partitions continue."""
    topic = filled(topics, new_topic(2), b"a0")
    filled(topics, topic, b"b0", partition=1)
    member = join(topic, group=group)
    poll_until(lambda: len(member.rows) == 2, member)
    here = TopicPartition(topic, 0)
    member.consumer.pause([here])
    filled(topics, topic, b"a1", b"a2")
    filled(topics, topic, b"b1", b"b2", partition=1)
    poll_until(lambda: len(member.rows) == 4, member)
    member.poll(200)
    assert sorted(value or b"" for value in member.values[2:]) == [b"b1", b"b2"]
    assert member.history == [("assign", [here, TopicPartition(topic, 1)])]
    member.consumer.resume([here])
    poll_until(lambda: len(member.rows) == 6, member)
    assert member.values[4:] == [b"a1", b"a2"]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_two_members_share_the_partitions(
    topics: Topics, new_topic: NewTopic, join: Join, group: str, strategy: str
) -> None:
    """A second member takes some partitions over, and returns them when it leaves; every row is read."""
    topic = new_topic(2)
    every = {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    first = join(topic, group=group, partition_assignment_strategy=strategy)
    poll_until(lambda: first.assigned == every, first)
    second = join(topic, group=group, partition_assignment_strategy=strategy)
    poll_until(lambda: len(first.assigned) == len(second.assigned) == 1, first, second)
    assert first.assigned | second.assigned == every
    taken = sorted(every) if strategy == "range" else sorted(second.assigned)
    assert first.history[1] == ("revoke", taken)
    for number in (0, 1):
        filled(topics, topic, b"%d" % number, partition=number)
    poll_until(lambda: len(first.rows) == len(second.rows) == 1, first, second)
    assert {(row[0], row[1]) for row in first.rows} == {tuple(each) for each in first.assigned}
    for member in (first, second):
        member.commit(dict.fromkeys(member.assigned, 1))
    second.consumer.close()
    assert second.history[-1][0] == "revoke"
    poll_until(lambda: first.assigned == every, first)
    assert len(first.rows) == 1
    assert not any(what == "lose" for what, _ in first.history + second.history)


class Rebalancing:
    """librdkafka with a rebalance between the two calls of one poll."""

    def __init__(self, member: Member, partition: TopicPartition) -> None:
        self._member, self._partition = member, partition

    def __getattr__(self, name: str) -> Any:
        """Return librdkafka's own function."""
        return getattr(library(), name)

    def consume_batch_queue(self, queue: int, wait_ms: int, address: int, most: int) -> int:
        """Fetch the first message; take its partition away in place of fetching the rest."""
        if most == 1:
            return int(library().consume_batch_queue(queue, wait_ms, address, most))
        consumer: Any = self._member.consumer
        with partition_list([self._partition]) as pointer:
            consumer._assignment._rebalance(consumer._client, ERR_REVOKE_PARTITIONS, pointer, None)
        return 0


def test_row_of_a_partition_revoked_during_a_poll_is_dropped(
    topics: Topics, new_topic: NewTopic, join: Join, group: str
) -> None:
    """A task with a closed partition gets no more of it, even of what this poll fetched before."""
    topic = new_topic()
    here = TopicPartition(topic, 0)
    member = join(topic, group=group)
    poll_until(lambda: member.assigned == {here}, member)
    member.consumer._messages._library = Rebalancing(member, here)  # type: ignore[assignment]
    filled(topics, topic, b"a")
    poll_until(lambda: member.assigned == set(), member)
    member.consumer._messages._library = library()
    assert member.rows == []


def test_successor_of_a_static_member_fences_it(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """A replaced task cannot continue to read: its poll raises the broker's error."""
    topic = filled(topics, new_topic(), b"a")
    config = {"group_instance_id": f"{group}-0", "session_timeout_ms": "6000"}
    first = join(topic, group=group, **config)
    poll_until(lambda: len(first.rows) == 1, first)
    second = join(topic, group=group, **config)
    poll_until(lambda: len(second.rows) == 1, second)
    with pytest.raises(KafkaError) as caught:
        poll_until(lambda: False, first)
    assert caught.value.name == "FENCED_INSTANCE_ID"


@pytest.mark.parametrize("raises", ["assign", "revoke"])
def test_callback_error_is_raised_by_poll(
    topics: Topics, new_topic: NewTopic, join: Join, group: str, raises: str
) -> None:
    """An exception cannot pass through C, so it is kept for the poll."""
    topic = filled(topics, new_topic(), b"a")
    first = join(topic, group=group, raises=raises)
    with pytest.raises(RuntimeError, match=f"raised in {raises}"):  # noqa: PT012 -- some poll of many raises it
        poll_until(lambda: bool(first.rows), first)
        first.consumer.close()
    assert first.history[-1][0] in (raises, "revoke")


def test_closing_revokes_and_may_still_commit(topics: Topics, new_topic: NewTopic, join: Join, group: str) -> None:
    """The last revocation runs while commits still reach the broker; closing again is nothing."""
    topic = filled(topics, new_topic(), b"a", b"b")
    here = TopicPartition(topic, 0)
    member = join(topic, group=group)
    poll_until(lambda: len(member.rows) == 2, member)
    member.commits_at_the_end = 1
    member.consumer.close()
    member.consumer.close()
    successor = join(topic, group=group)
    poll_until(lambda: bool(successor.rows), successor)
    assert successor.consumer.committed([here]) == {here: 1}
    assert successor.values == [b"b"]


def test_missing_topic_is_read_once_it_exists(topics: Topics, join: Join, group: str) -> None:
    """A sink may start before its topic exists."""
    name = f"later-{group}"
    member = join(name, group=group, topic_metadata_refresh_interval_ms="200", allow_auto_create_topics="false")
    assert member.poll(300) == []
    topics.create(name)
    filled(topics, name, b"a")
    poll_until(lambda: member.values == [b"a"], member)


def test_wake_ends_a_poll_from_another_thread(new_topic: NewTopic, join: Join, group: str) -> None:
    """The current or the next one, also of a joined member; after ``close`` it has no effect."""
    member = join(new_topic(), group=group)
    poll_until(lambda: bool(member.assigned), member)
    threading.Timer(0.05, member.consumer.wake).start()
    began = time.monotonic()
    assert member.consumer.poll(60_000) == []
    member.consumer.wake()
    assert member.consumer.poll(60_000) == []
    assert time.monotonic() - began < TIMEOUT
    member.consumer.close()
    member.consumer.wake()
