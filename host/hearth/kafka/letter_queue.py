"""A dead letter queue: its letters, what failed in them, and their replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hearth.kafka.client import consumer_config, producer_config
from hearth.kafka.letter_context import StoredLetter
from hearth.kafka.letter_replay import LetterReplay
from hearth.kafka.topic_range import TopicRange

_READER, _REPLAY = "hearth-dlq", "hearth-replay-{}"


@dataclass(frozen=True)
class LetterQueue:
    """The letters of a topic, read and replayed with the client settings of a worker and of a connector."""

    topic: str
    worker: Mapping[str, str]
    connector: Mapping[str, str]

    def count(self) -> int:
        """Return the number of letters by the offsets of the partitions; reads none."""
        with self._opened(_READER) as records:
            return records.count

    def letters(self, most: int | None = None, seconds: float | None = None) -> Iterator[StoredLetter]:
        """Yield the letters within ``seconds``; only those of the last ``most`` offsets of each partition if given."""
        with self._opened(_READER) as records:
            begins = {
                number: begin if most is None else max(begin, end - most)
                for number, (begin, end) in records.bounds.items()
            }
            yield from map(StoredLetter.of, records.read(begins, seconds))

    @contextmanager
    def replay(self, to: str | None = None) -> Iterator[LetterReplay]:
        """Open the replay of this queue, into the topic ``to`` instead of the topics of the records if given."""
        group = _REPLAY.format(self.topic)
        with self._opened(group) as records:
            yield LetterReplay(records, producer_config(self.worker, self.connector, group).config, group, to)

    def _opened(self, group: str) -> TopicRange:
        settings = consumer_config(self.worker, self.connector, self.topic).config
        return TopicRange({**settings, "group.id": group}, self.topic)


class LetterGroups:
    """Counts letters by what failed: topic, stage and exception."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str, str], dict[str, Any]] = {}

    def counted(self, letters: Iterable[StoredLetter]) -> Iterator[StoredLetter]:
        """Yield the letters and count them."""
        for each in letters:
            self._count(each)
            yield each

    def to_json(self) -> list[dict[str, Any]]:
        """Return topic, stage, exception, count, and place and message of the last letter; the most frequent first."""
        return sorted(self._groups.values(), key=lambda each: -each["count"])

    def _count(self, letter: StoredLetter) -> None:
        of = letter.context
        cause = ("?", "?", "no context") if of is None else (of.topic, of.stage, of.exception)
        facts = self._groups.setdefault(cause, dict(zip(("topic", "stage", "exception"), cause)) | {"count": 0})
        facts["count"] += 1
        facts["last"] = f"{letter.record.partition}:{letter.record.offset}"
        facts["message"] = "" if of is None else of.message
