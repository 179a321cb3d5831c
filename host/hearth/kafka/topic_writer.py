"""Writes records in the order given, without waiting for them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.token import authorized

_CLOSE_SECONDS = 5.0


@dataclass(frozen=True)
class SendOutcome:
    """The offset of a written record, or the error, with offset -1."""

    offset: int = -1
    error: str | None = None


class TopicWriter:
    """A producer that keeps order and retries without limit; may be used from any thread.

    ``poll`` calls the callbacks, on its caller's thread.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._producer = Producer(authorized({**config, "logger": logging.getLogger(CLIENT)}))

    def send(self, topic: str, key: bytes, value: bytes | None, on_sent: Callable[[SendOutcome], None]) -> None:
        """Send a record; returns at once."""

        def report(error: KafkaError | None, message: Message) -> None:
            on_sent(SendOutcome(message.offset()) if error is None else SendOutcome(error=error.str()))

        try:
            self._producer.produce(topic, value, key, on_delivery=report)
        except BufferError:
            on_sent(SendOutcome(error="the producer's queue is full"))

    def poll(self) -> None:
        """Call the callbacks of records that were written or failed."""
        self._producer.poll(0)

    def drop(self) -> None:
        """Drop the records in flight, and call their callbacks."""
        self._producer.purge()
        self.poll()

    def close(self) -> None:
        """Wait a few seconds until everything is written."""
        self._producer.flush(_CLOSE_SECONDS)
