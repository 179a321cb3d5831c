"""The context of a dead letter: why its record failed, in headers that Kafka Connect defines (KIP-298)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hearth.kafka.topic_range import RawRecord
from hearth_execution.raw_header import RawHeaders

PREFIX = "__connect.errors."
REPLAYS = "hearth.replay.count"
"""The header that counts how often a record was replayed."""
_MEMBERS = {
    "topic": "topic",
    "connector.name": "connector",
    "task.id": "task",
    "stage": "stage",
    "class.name": "class_name",
    "exception.class.name": "exception",
    "exception.message": "message",
    "exception.stacktrace": "trace",
}


@dataclass(frozen=True)
class LetterContext:
    """Where a record comes from, and what failed; empty texts where the letter says nothing."""

    topic: str
    partition: int
    offset: int
    connector: str = ""
    task: str = ""
    stage: str = ""
    class_name: str = ""
    exception: str = ""
    message: str = ""
    trace: str = ""

    @property
    def summary(self) -> str:
        """Return stage, exception and the first line of its message."""
        first = next(iter(self.message.splitlines()), "")
        return f"{self.stage} {self.exception}: {first}"


@dataclass(frozen=True)
class StoredLetter:
    """A record of a dead letter queue; without a context it can only be looked at."""

    record: RawRecord
    context: LetterContext | None
    replays: int = 0

    @classmethod
    def of(cls, record: RawRecord) -> StoredLetter:
        """Read a record; a record that failed again after a replay has two contexts, of which the last counts."""
        found: dict[str, str] = {}
        replays = 0
        for name, data in record.headers:
            text = (data or b"").decode(errors="replace")
            if name.startswith(PREFIX):
                found[name.removeprefix(PREFIX)] = text
            elif name == REPLAYS and text.isdecimal():
                replays = max(replays, int(text))
        return cls(record, _context(found), replays)

    @property
    def own_headers(self) -> RawHeaders:
        """Return the headers of the record itself."""
        return [each for each in self.record.headers if not each[0].startswith(PREFIX) and each[0] != REPLAYS]

    def to_json(self) -> dict[str, Any]:
        """Return place, context and replays; the commands' JSON adds key and value."""
        context = None if self.context is None else vars(self.context)
        place = {"partition": self.record.partition, "offset": self.record.offset}
        return {**place, "timestamp": self.record.timestamp, "replays": self.replays, "context": context}


def _context(found: dict[str, str]) -> LetterContext | None:
    try:
        partition, offset = int(found["partition"]), int(found["offset"])
    except (KeyError, ValueError):
        return None
    if not found.get("topic"):
        return None
    return LetterContext(
        partition=partition, offset=offset, **{own: found.get(name, "") for name, own in _MEMBERS.items()}
    )
