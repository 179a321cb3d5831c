"""Sends dead letters back to the topics of their records, each once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Producer, TopicPartition

from hearth.kafka.letter_context import REPLAYS, StoredLetter
from hearth.kafka.token import authorized
from hearth.kafka.topic_range import LOOK_SECONDS, TopicRange
from hearth_api import ConnectError

MOST_REPLAYS = 3
_BATCH = 500
"""Letters of one transaction."""
_SECONDS = 60.0
_LONGEST = 4000
"""Brokers keep at most offset.metadata.max.bytes of an offset's metadata, 4096 by default."""
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


class ReplayFailed(ConnectError):
    """Letters were not replayed; those of the failed transaction are neither written nor counted as done."""

    code = "dead_letter.replay"


@dataclass
class ReplayProgress:
    """What of a partition of the queue was replayed: all below ``position``, and single offsets above it."""

    position: int
    done: set[int] = field(default_factory=set)

    def has(self, offset: int) -> bool:
        """Return whether the letter at an offset was replayed."""
        return offset < self.position or offset in self.done

    def text(self) -> str:
        """Return the single offsets as ranges; raises ReplayFailed if they are too many to be kept."""
        ranges: list[list[int]] = []
        for offset in sorted(self.done):
            if ranges and offset == ranges[-1][1] + 1:
                ranges[-1][1] = offset
            else:
                ranges.append([offset, offset])
        text = ",".join(str(begin) if begin == end else f"{begin}-{end}" for begin, end in ranges)
        if len(text) > _LONGEST:
            raise ReplayFailed(
                f"{len(ranges)} separate runs of letters were replayed, more than an offset's metadata holds",
                hint="replay the letters between them, without --match",
            )
        return text

    @classmethod
    def parse(cls, position: int, text: str | None) -> ReplayProgress:
        """Read a committed offset and its metadata."""
        done: set[int] = set()
        for begin, end in _RANGE.findall(text or ""):
            done |= set(range(int(begin), int(end or begin) + 1))
        return cls(position, done)


@dataclass
class ReplayCount:
    """What a replay did; letters that were not replayed stay for the next one."""

    replayed: int = 0
    unmatched: int = 0
    without_context: int = 0
    too_often: int = 0


class LetterReplay:
    """Replays the letters of a queue.

    A letter is written to its record's topic and partition in one transaction with the progress, which a consumer
    group keeps: a replay that is killed is continued, and two at a time fence each other. Letters have their bytes,
    timestamp and own headers, and one that counts the replays.
    """

    def __init__(self, letters: TopicRange, producer: Mapping[str, Any], group: str, to: str | None = None) -> None:
        """``letters`` is the queue's range, whose consumer has ``group``; ``to`` stands in for the records' topics."""
        self._letters = letters
        self._topic = letters.topic
        self._to = to
        own = {"transactional.id": group, "enable.idempotence": "true", "log_level": "0"}
        self._producer = Producer(authorized({**producer, **own}))
        self._progress = self._committed()
        self._partitions: dict[str, int] = {}

    def replay(self, matches: Callable[[StoredLetter], bool], most: int | None = None) -> Iterator[StoredLetter]:
        """Yield the letters that would be replayed: those that match, have a context and were not yet replayed."""
        self.count = ReplayCount()
        begins = {
            number: max(each.position, self._letters.bounds[number][0]) for number, each in self._progress.items()
        }
        for record in self._letters.read(begins):
            letter = StoredLetter.of(record)
            if self._progress[record.partition].has(record.offset):
                continue
            if most is not None and self.count.replayed >= most:
                return
            if letter.context is None:
                self.count.without_context += 1
            elif letter.replays >= MOST_REPLAYS:
                self.count.too_often += 1
            elif not matches(letter):
                self.count.unmatched += 1
            else:
                self.count.replayed += 1
                yield letter

    def send(self, letters: Iterable[StoredLetter]) -> None:
        """Write letters, in transactions of a few hundred; raises ReplayFailed."""
        chosen = list(letters)
        try:
            for begin in range(0, len(chosen), _BATCH):
                self._send_together(self._producer, chosen[begin : begin + _BATCH])
        except KafkaException as error:
            raise ReplayFailed(
                f"letters of {self._topic!r} were not replayed: {error.args[0].str()}",
                hint="run it again: it continues after the last letters that were written",
            ) from error

    def _send_together(self, producer: Producer, letters: Sequence[StoredLetter]) -> None:
        failures: list[Any] = []
        producer.begin_transaction()
        try:
            for letter in letters:
                self._produce(producer, letter, lambda error, _: failures.append(error) if error else None)
                self._progress[letter.record.partition].done.add(letter.record.offset)
            producer.flush(_SECONDS)
            if failures:
                raise KafkaException(failures[0])
            touched = {letter.record.partition for letter in letters}
            producer.send_offsets_to_transaction(
                [self._place(number) for number in sorted(touched)],
                self._letters.consumer.consumer_group_metadata(),
                _SECONDS,
            )
            producer.commit_transaction(_SECONDS)
        except BaseException:
            producer.abort_transaction(_SECONDS)
            raise

    def _produce(self, producer: Producer, letter: StoredLetter, on_delivery: Callable[[Any, Any], Any]) -> None:
        record, context = letter.record, letter.context
        assert context is not None, "letters without a context are left out"
        topic = self._to or context.topic
        if topic not in self._partitions:
            self._partitions[topic] = len(producer.list_topics(topic, LOOK_SECONDS).topics[topic].partitions)
            if not self._partitions[topic]:
                raise ReplayFailed(f"no topic {topic!r} to replay to", hint="create it, or name another with --to")
        has_partition = context.partition < self._partitions[topic]
        headers = [*letter.own_headers, (REPLAYS, str(letter.replays + 1).encode())]
        more = {} if record.timestamp is None else {"timestamp": record.timestamp}
        if has_partition:
            more["partition"] = context.partition
        producer.produce(topic, record.value, record.key, headers=headers, on_delivery=on_delivery, **more)

    def _place(self, number: int) -> TopicPartition:
        """Return the progress of a partition as the offset to commit."""
        progress = self._progress[number]
        while progress.position in progress.done:
            progress.done.remove(progress.position)
            progress.position += 1
        return TopicPartition(self._topic, number, progress.position, progress.text())

    def _committed(self) -> dict[int, ReplayProgress]:
        """Return the progress, after ending the transaction of a replay that was killed, which would hide it."""
        places = [TopicPartition(self._topic, number) for number in self._letters.bounds]
        try:
            self._producer.init_transactions(_SECONDS)
            found = self._letters.consumer.committed(places, timeout=LOOK_SECONDS)
        except KafkaException as error:
            raise ReplayFailed(f"the progress of {self._topic!r} cannot be read: {error.args[0].str()}") from error
        return {
            each.partition: ReplayProgress.parse(max(each.offset, 0), each.metadata if each.offset >= 0 else "")
            for each in found
        }
