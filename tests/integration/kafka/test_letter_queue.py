"""What a dead letter queue has, and its replay into another topic."""

from __future__ import annotations

import pytest

from hearth.broker import KafkaBroker
from hearth.kafka.letter_queue import LetterGroups, LetterQueue
from hearth.kafka.letter_replay import ReplayFailed
from tests.integration.kafka.test_letter_replay import letter, values
from tests.peer.topic import Record, Topics


def test_letters_are_counted_by_what_failed(broker: KafkaBroker, topics: Topics) -> None:
    """The most frequent cause first; letters without a context are a cause of their own; the newest alone if asked."""
    topics.create("queue-dead")
    stages = ("CONVERT", "PUT", "PUT")
    sent = [letter("queue", number, stage) for number, stage in enumerate(stages)]
    topics.produce("queue-dead", [*sent, Record(None, b"bare")])
    queue, groups = LetterQueue("queue-dead", {"bootstrap.servers": broker.bootstrap_servers}, {}), LetterGroups()
    assert len(list(groups.counted(queue.letters()))) == queue.count() == 4
    found = [(each["topic"], each["stage"], each["count"], each["last"]) for each in groups.to_json()]
    assert found == [("queue", "PUT", 2, "0:2"), ("queue", "CONVERT", 1, "0:0"), ("?", "?", 1, "0:3")]
    assert [each.record.offset for each in queue.letters(most=2)] == [2, 3]


def test_a_replay_goes_to_a_named_topic(broker: KafkaBroker, topics: Topics) -> None:
    """Once; a topic that does not exist is refused, and nothing counts as replayed."""
    topics.create("origin")
    topics.create("origin-again")
    topics.create("origin-dead")
    topics.produce("origin-dead", [letter("origin", 0)])
    queue = LetterQueue("origin-dead", {"bootstrap.servers": broker.bootstrap_servers}, {})
    with queue.replay("no-such-topic") as run, pytest.raises(ReplayFailed, match="no topic 'no-such-topic'"):
        run.send(list(run.replay(lambda _: True)))
    for _ in range(2):
        with queue.replay("origin-again") as run:
            run.send(list(run.replay(lambda _: True)))
    assert values(broker, "origin-again") == [b"0"]
    assert values(broker, "origin") == []
