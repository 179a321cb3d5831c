"""Writes records that anybody may write and nobody waits for, in the order they were given."""

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
    """Where a record was written, or why it was not; then the offset is -1."""

    offset: int = -1
    error: str | None = None


class TopicWriter:
    """A producer that keeps order and never gives up; used from any thread.

    Outcomes are told by ``poll``, on the thread that calls it.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._producer = Producer(authorized({**config, "logger": logging.getLogger(CLIENT)}))

    def send(self, topic: str, key: bytes, value: bytes | None, on_sent: Callable[[SendOutcome], None]) -> None:
        """Have a record written; returns at once."""

        def report(error: KafkaError | None, message: Message) -> None:
            on_sent(SendOutcome(message.offset()) if error is None else SendOutcome(error=error.str()))

        try:
            self._producer.produce(topic, value, key, on_delivery=report)
        except BufferError:
            on_sent(SendOutcome(error="too many records wait for their broker"))

    def poll(self) -> None:
        """Tell what became of records."""
        self._producer.poll(0)

    def drop(self) -> None:
        """Write nothing of what is still on its way, and tell so."""
        self._producer.purge()
        self.poll()

    def close(self) -> None:
        """Wait, not for ever, until everything is written."""
        self._producer.flush(_CLOSE_SECONDS)
