"""What `hearth run` shows of the records that a source writes."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition

from hearth.cli import written_records
from hearth.cli.written_records import COUNT_SECONDS, SHOWN, WrittenRecords

Written = tuple[str | None, str | None]


class FakeMessage:
    """A record, or an event of the client."""

    def __init__(self, key: str | None, value: str | None, is_event: bool = False) -> None:
        self._key, self._value, self._is_event = key, value, is_event

    def topic(self) -> str:
        return "t"

    def error(self) -> object:
        return "at the end" if self._is_event else None

    def key(self) -> bytes | None:
        return None if self._key is None else self._key.encode()

    def value(self) -> bytes | None:
        return None if self._value is None else self._value.encode()


class FakeConsumer:
    """Returns the given messages, and records its assignments."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.messages: list[FakeMessage] = []
        self.assigned: list[TopicPartition] = []
        self.partitions = {0: (0, 3), 1: (5, 100)}
        self.is_away = self.is_closed = False

    def list_topics(self, topic: str, timeout: float) -> Any:
        if self.is_away:
            raise KafkaException("away")
        return type("Metadata", (), {"topics": {topic: type("Topic", (), {"partitions": self.partitions})}})

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        return self.partitions[partition.partition]

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        self.assigned += partitions

    def consume(self, most: int, timeout: float) -> list[FakeMessage]:
        assert timeout == 0
        found, self.messages = self.messages[:most], self.messages[most:]
        return found

    def close(self) -> None:
        self.is_closed = True


class Shown:
    """The records of a source with a fake consumer and clock, and the lines that are shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(written_records, "Consumer", FakeConsumer)
        self.lines: list[str] = []
        self.now = 100.0
        self.records = WrittenRecords("localhost:1", self.lines.append, lambda: self.now)
        consumer: Any = self.records._consumer
        self.consumer: FakeConsumer = consumer

    def look(self, *written: Written) -> list[str]:
        """Write records, look, and return the new lines."""
        self.consumer.messages += [FakeMessage(*each) for each in written]
        self.records.look(["t"])
        found = list(self.lines)
        self.lines.clear()
        return found


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """Provide records that are not shown yet."""
    return Shown(monkeypatch)


def test_first_records_are_shown_and_later_ones_counted(shown: Shown) -> None:
    """A count follows at once, then in intervals."""
    assert shown.look(*[(None, str(each)) for each in range(SHOWN + 2)]) == [
        *(f"t: {each}" for each in range(SHOWN)),
        "2 more records",
    ]
    shown.now += COUNT_SECONDS - 1
    assert shown.look((None, "x")) == []
    shown.now += 1
    assert shown.look((None, "x")) == ["2 more records"]
    assert shown.look() == []


def test_a_line_has_value_and_key(shown: Shown) -> None:
    """A long value is cut, and an event of the client is no record."""
    assert shown.look(("k", "v"), (None, None)) == ["t: v, key k", "t: null"]
    assert shown.look((None, "x" * 1000)) == [f"t: {'x' * 300}… (1,000 bytes)"]
    shown.consumer.messages.append(FakeMessage(None, "event", is_event=True))
    assert shown.look() == []


def test_a_topic_is_read_from_its_last_records_on(shown: Shown) -> None:
    """Of each partition, without going before its beginning; once."""
    shown.look()
    shown.look()
    assert [(each.partition, each.offset) for each in shown.consumer.assigned] == [(0, 0), (1, 100 - SHOWN)]


def test_a_restart_shows_the_records_that_follow(shown: Shown) -> None:
    """Earlier ones are no longer counted."""
    shown.look(*[(None, "old")] * (SHOWN + 1))
    shown.look((None, "old"))
    shown.records.restart()
    shown.now += COUNT_SECONDS
    assert shown.look((None, "new")) == ["t: new"]


def test_an_unavailable_broker_is_asked_again(shown: Shown) -> None:
    """It may restart while the connector runs."""
    shown.consumer.is_away = True
    shown.look()
    assert shown.consumer.assigned == []
    shown.consumer.is_away = False
    shown.look()
    assert len(shown.consumer.assigned) == 2


def test_the_consumer_commits_nothing_and_is_closed(shown: Shown) -> None:
    """It leaves no trace in the user's cluster."""
    assert shown.consumer.config["enable.auto.commit"] == "false"
    shown.records.close()
    assert shown.consumer.is_closed
