"""A member of a consumer group that records its assignments, and a function that fills its topic."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hearth.kafka.consumer import Consumer
from hearth.kafka.fetched import Incoming
from hearth.kafka.kafka_error import KafkaError
from hearth_api import TopicPartition
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT

NewTopic = Callable[..., str]


@dataclass
class Member:
    """A consumer that records what is assigned and revoked."""

    consumer: Consumer = field(init=False)
    assigned: set[TopicPartition] = field(default_factory=set)
    history: list[tuple[str, list[TopicPartition]]] = field(default_factory=list)
    rows: list[tuple[str, int, int, bytes | None, bytes | None]] = field(default_factory=list)
    raises: str | None = None
    begin: dict[TopicPartition, int] = field(default_factory=dict)
    commits_at_the_end: int | None = None

    def on_assign(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Record an assignment; continue at the group's offsets, or where the test chooses."""
        self._note("assign", partitions)
        self.assigned |= set(partitions)
        return self.consumer.committed(partitions) | self.begin

    def on_assigned(self) -> None:
        """Need nothing."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """Note a revocation."""
        self._note("lose" if lost else "revoke", partitions)
        self.assigned -= set(partitions)
        if self.commits_at_the_end is not None:
            assert self.commit(dict.fromkeys(partitions, self.commits_at_the_end)) == {}

    def _note(self, what: str, partitions: list[TopicPartition]) -> None:
        self.history.append((what, sorted(partitions)))
        if what == self.raises:
            raise RuntimeError(f"raised in {what}")

    def poll(self, wait_ms: int = 100, most: int = 10_000) -> list[Incoming]:
        """Poll once and note the rows."""
        parts = self.consumer.poll(wait_ms, most)
        for part in parts:
            columns = (part.partition.tolist(), part.offset.tolist(), part.key.to_pylist(), part.value.to_pylist())
            self.rows += [(part.topic, *row) for row in zip(*columns, strict=True)]
        return parts

    def commit(self, offsets: dict[TopicPartition, int], number: int = 1) -> dict[TopicPartition, KafkaError]:
        """Commit, wait for the answer, and return what was refused."""
        self.consumer.commit(offsets, number)
        (answer,) = self.consumer.commit_answers(30_000)
        assert answer.number == number
        return answer.refused

    @property
    def values(self) -> list[bytes | None]:
        """Return the values that came."""
        return [value for *_, value in self.rows]


Join = Callable[..., Member]


def poll_until(is_done: Callable[[], bool], *members: Member) -> None:
    """Let all members poll until something holds."""
    deadline = time.monotonic() + TIMEOUT
    while not is_done():
        assert time.monotonic() < deadline, [member.history for member in members]
        for member in members:
            member.poll(20)


def filled(topics: Topics, name: str, *values: bytes | None, partition: int = 0) -> str:
    """Write values to a partition."""
    topics.produce(name, [Record(None, value, partition=partition) for value in values])
    return name
