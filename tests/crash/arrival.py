"""Reads the books of a ledger sink's tasks while they are written, and partitions of topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

ANSWER_SECONDS = 2.0
_BATCH = 5000


@dataclass
class Arrived:
    """The offsets of one partition that have arrived, and the number of arrivals."""

    count: int = 0
    _seen: bytearray = field(default_factory=bytearray)

    @property
    def end(self) -> int:
        """Return the offset after the last one that arrived."""
        return len(self._seen)

    @property
    def distinct(self) -> int:
        """Return how many distinct offsets arrived."""
        return self._seen.count(1)

    @property
    def reach(self) -> int:
        """Return the first offset that is missing."""
        found = self._seen.find(0)
        return len(self._seen) if found < 0 else found

    def add(self, first: int, count: int) -> int:
        """Add consecutive offsets and return how many of them had arrived before."""
        end = first + count
        self._seen.extend(bytes(max(0, end - len(self._seen))))
        known = self.known(first, end)
        self._seen[first:end] = b"\1" * count
        self.count += count
        return known

    def known(self, first: int, end: int) -> int:
        """Return how many offsets of a range have arrived."""
        return self._seen.count(1, first, max(first, end))

    def missing(self, first: int, end: int) -> int:
        """Return how many offsets of a range have not arrived."""
        return end - first - self.known(first, end)

    def gaps(self, end: int) -> list[tuple[int, int]]:
        """Return first and end of each range below an offset that has not arrived."""
        found = []
        at = self._seen.find(0, 0, end)
        while at >= 0:
            after = self._seen.find(1, at, end)
            after = min(end, len(self._seen)) if after < 0 else after
            found.append((at, after))
            at = self._seen.find(0, after, end)
        if len(self._seen) < end:
            found.append((len(self._seen), end))
        return found


@dataclass(frozen=True)
class Event:
    """One line of a book; ``places`` are topic and partition, in a ``put`` also offset, number and count."""

    time: int
    run: str
    word: str
    rest: tuple[str, ...]

    def places(self) -> list[tuple[str, int]]:
        """Return the partitions that an `open` or a `close` names."""
        return [(topic, int(number)) for topic, _, number in (each.rpartition(":") for each in self.rest)]

    def offsets(self) -> list[tuple[tuple[str, int], int]]:
        """Return partition and offset of each entry of an ``agree``."""
        words = (each.rsplit(":", 2) for each in self.rest)
        return [((topic, int(number)), int(offset)) for topic, number, offset in words]

    def records(self) -> tuple[tuple[str, int], int, int, int]:
        """Return partition, first offset, first number and count of each entry of a ``put`` or a ``refuse``."""
        topic, *numbers = self.rest
        partition, offset, number, count = map(int, numbers)
        return (topic, partition), offset, number, count


@dataclass
class Books:
    """The books of one connector's tasks in one folder."""

    folder: Path
    connector: str
    events: list[Event] = field(default_factory=list)
    _read: dict[Path, int] = field(default_factory=dict)

    def read(self) -> list[Event]:
        """Return the lines since the last call; an incomplete last line waits for the next call."""
        fresh = [event for path in sorted(self.folder.glob(f"{self.connector}-*.book")) for event in self._more(path)]
        self.events += fresh
        return fresh

    def living(self) -> list[int]:
        """Return the ids of processes whose runs have not stopped in order; some may be dead."""
        ended = {event.run for event in self.events if event.word == "stop"}
        return [int(run.rpartition("-")[2]) for run in {event.run: None for event in self.events} if run not in ended]

    def _more(self, path: Path) -> Iterator[Event]:
        with path.open("rb") as file:
            file.seek(self._read.get(path, 0))
            whole, end, _ = file.read().rpartition(b"\n")
        self._read[path] = self._read.get(path, 0) + len(whole) + len(end)
        for line in whole.decode().splitlines():
            word, moment, *rest = line.split(" ")
            yield Event(int(moment), path.stem, word, tuple(rest))


def new_consumer(servers: str, group: str, isolation: str = "read_uncommitted") -> Any:
    """Return a client for the test, to read a topic or to query a group's committed offsets.

    A broker that was suspended for longer than its session is fenced for a moment when it resumes, and metadata
    responses list no brokers at all. A librdkafka client that queries at that moment may take minutes to find it
    again: after a missing response, continue with a new client.
    """
    return Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
    )


class Tail:
    """Reads a topic from its beginning; each read stops at the current end."""

    def __init__(self, servers: str, topic: str, partitions: int, isolation: str = "read_uncommitted") -> None:
        self._servers, self._topic, self._isolation = servers, topic, isolation
        self._next = dict.fromkeys(range(partitions), 0)
        self._consumer = self._begin()

    def renew(self) -> None:
        """Continue with a new client from the current position."""
        self._consumer.close()
        self._consumer = self._begin()

    def _begin(self) -> Any:
        consumer = new_consumer(self._servers, "ledger-tail", self._isolation)
        consumer.assign([TopicPartition(self._topic, number, at) for number, at in self._next.items()])
        return consumer

    def read(self, take: Callable[[Any], None]) -> None:
        """Pass each new message to ``take``; raise KafkaException when the broker does not respond.

        Messages already fetched are taken first: librdkafka does not rediscover a broker that was missing from the
        metadata for a moment while messages of it are in the queue.
        """
        self._consume(take, 0)
        ends = {number: self._end(number) for number in self._next}
        deadline = time.monotonic() + 5 * ANSWER_SECONDS
        while any(self._next[number] < end for number, end in ends.items()):
            self._consume(take, 0.05)
            if time.monotonic() > deadline:
                raise KafkaException(f"{self._topic} cannot be read to its end")

    def _consume(self, take: Callable[[Any], None], timeout: float) -> None:
        for message in self._consumer.consume(_BATCH, timeout=timeout):
            if message.error() and message.error().code() == KafkaError._PARTITION_EOF:
                self._next[message.partition()] = message.offset()  # the position also passes transaction markers
                continue
            if message.error():
                raise KafkaException(message.error())
            self._next[message.partition()] = message.offset() + 1
            take(message)

    def close(self) -> None:
        """Close the client."""
        self._consumer.close()

    def _end(self, number: int) -> int:
        place = TopicPartition(self._topic, number)
        return int(self._consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)[1])
