"""Dead letters are read as Kafka Connect writes them."""

from __future__ import annotations

from hearth.kafka.letter_context import StoredLetter
from hearth.kafka.topic_range import RawRecord

FAILED = {
    "topic": "orders",
    "partition": "2",
    "offset": "41",
    "connector.name": "sink",
    "task.id": "0",
    "stage": "VALUE_CONVERTER",
    "class.name": "JsonConverter",
    "exception.class.name": "DataException",
    "exception.message": "no JSON\nat all",
    "exception.stacktrace": "trace",
}


def letter(*headers: tuple[str, bytes | None]) -> StoredLetter:
    """Return a letter with these headers."""
    return StoredLetter.of(RawRecord("dead", 0, 7, None, b"k", b"v", list(headers)))


def context(**changes: str) -> list[tuple[str, bytes | None]]:
    """Return the headers of a context."""
    return [(f"__connect.errors.{name}", text.encode()) for name, text in {**FAILED, **changes}.items()]


def test_all_headers_are_read() -> None:
    """And the record's own are kept apart, in order."""
    found = letter(("own", b"1"), *context(), ("own", None))
    assert found.context is not None
    assert (found.context.topic, found.context.partition, found.context.offset) == ("orders", 2, 41)
    assert found.context.summary == "VALUE_CONVERTER DataException: no JSON"
    assert found.own_headers == [("own", b"1"), ("own", None)]
    assert found.to_json()["context"]["connector"] == "sink"


def test_the_last_failure_counts_after_a_replay() -> None:
    """A record that failed twice carries both contexts."""
    found = letter(*context(), ("hearth.replay.count", b"2"), *context(stage="TASK_PUT", offset="99"))
    assert found.context is not None
    assert (found.context.stage, found.context.offset, found.replays) == ("TASK_PUT", 99, 2)


def test_a_letter_without_its_place_has_no_context() -> None:
    """It can only be looked at."""
    for headers in ([], context(partition="x"), context(topic="")):
        assert letter(*headers).context is None
