"""Reads a range of a topic once, for commands: no group is joined and nothing is committed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from hearth.foundation.nearest import did_you_mean
from hearth.kafka.token import authorized
from hearth_api import ConnectError, NotFoundError
from hearth_execution.raw_header import RawHeaders

LOOK_SECONDS = 10.0
OPEN_SECONDS = 5.0
"""How long a transaction that is open, or whose end is being written, is waited for."""
_BATCH = 500
_WAIT_SECONDS = 0.2
_NO_TIMESTAMP = 0
_OWN = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "allow.auto.create.topics": "false",
}
_NOT_HERE = ("group.instance.id", "client.id")
"""Settings of a sink's consumer that two consumers may not share."""


@dataclass(frozen=True)
class RawRecord:
    """A record as it is in Kafka; ``timestamp`` is in milliseconds since the epoch."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: RawHeaders = field(default_factory=list)


class TopicRange:
    """The records of a topic that exist now, or from now on.

    A context manager; ``config`` is a consumer's. Raises NotFoundError for an unknown topic and ConnectError if no
    broker answers.
    """

    def __init__(self, config: Mapping[str, Any], topic: str) -> None:
        settings = {name: value for name, value in config.items() if name not in _NOT_HERE}
        self.consumer = Consumer(authorized({**settings, **_OWN, "log_level": "0"}))
        self.topic = topic
        try:
            self.bounds = self._bounds()
            """The first offset and the end of each partition."""
        except BaseException:
            self.consumer.close()
            raise

    def __enter__(self) -> TopicRange:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the brokers."""
        self.consumer.close()

    @property
    def count(self) -> int:
        """Return the number of offsets, which markers of transactions also take."""
        return sum(end - begin for begin, end in self.bounds.values())

    def read(
        self, begins: Mapping[int, int], seconds: float | None = None, follows: bool = False
    ) -> Iterator[RawRecord]:
        """Yield the records of partitions from these offsets to their end, each partition in order.

        Ends after ``seconds``, or never when it ``follows``. Records of an open transaction, and those behind, are
        waited for, but not for long.
        """
        open_since: dict[int, float] = {}
        left = {number for number, begin in begins.items() if follows or begin < self.bounds[number][1]}
        deadline = None if seconds is None else time.monotonic() + seconds
        self.consumer.assign([TopicPartition(self.topic, number, begins[number]) for number in sorted(left)])
        while left and (deadline is None or time.monotonic() < deadline):
            now = time.monotonic()
            left -= {number for number, since in open_since.items() if now - since > OPEN_SECONDS}
            for message in self.consumer.consume(_BATCH, _WAIT_SECONDS):
                number = message.partition()
                open_since.pop(number, None)
                if (error := message.error()) is not None:
                    if error.code() != KafkaError._PARTITION_EOF:
                        raise _error(self.topic, KafkaException(error))
                    if not follows and message.offset() < self.bounds[number][1]:
                        open_since[number] = time.monotonic()
                    elif not follows:
                        left.discard(number)
                    continue
                if number in left and (follows or message.offset() < self.bounds[number][1]):
                    yield _record(message)
                if not follows and message.offset() + 1 >= self.bounds[number][1]:
                    left.discard(number)

    def _bounds(self) -> dict[int, tuple[int, int]]:
        try:
            found = self.consumer.list_topics(timeout=LOOK_SECONDS).topics
            if self.topic not in found:
                raise NotFoundError(
                    f"no topic {self.topic!r}{did_you_mean(self.topic, found)}",
                    code="kafka.topic",
                    hint="check its name, and that the user may describe it",
                )
            places = [TopicPartition(self.topic, number) for number in sorted(found[self.topic].partitions)]
            return {each.partition: self.consumer.get_watermark_offsets(each, timeout=LOOK_SECONDS) for each in places}
        except KafkaException as error:
            raise _error(self.topic, error) from error


def _error(topic: str, error: KafkaException) -> ConnectError:
    return ConnectError(
        f"topic {topic!r} cannot be read: {error.args[0].str()}",
        code="environment.kafka",
        hint="check bootstrap.servers and the login in the worker's file",
    )


def _record(message: Message) -> RawRecord:
    kind, timestamp = message.timestamp()
    return RawRecord(
        str(message.topic()),
        int(message.partition() or 0),
        int(message.offset() or 0),
        None if kind == _NO_TIMESTAMP else timestamp,
        message.key(),
        message.value(),
        [(name, data) for name, data in message.headers() or ()],
    )
