"""The flow: numbered records for a sink at a constant rate; in each partition the number equals the offset."""

from __future__ import annotations

import threading
from typing import Any

from confluent_kafka import KafkaException, Producer

from tests.crash.verdict import ERRANT_EVERY
from tests.timeouts import TIMEOUT, eventually

_EVERY = 0.025


class Flow:
    """Writes numbers to all partitions of a topic until it is stopped; partitions may be added meanwhile."""

    def __init__(self, servers: str, topic: str, partitions: int, rate: int) -> None:
        """Describe a flow of ``rate`` records a second over all partitions."""
        self.produced = dict.fromkeys(range(partitions), 0)
        self._topic, self._burst = topic, max(1, round(rate * _EVERY / partitions))
        self._faults: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._producer: Any = Producer(
            {"bootstrap.servers": servers, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
            | {"reconnect.backoff.max.ms": 500, "delivery.timeout.ms": 0}
        )

    def start(self) -> None:
        """Start writing."""
        self._thread.start()

    def widen(self, partitions: int) -> None:
        """Write to ``partitions`` partitions from now on; they exist, but clients may not know them yet."""
        if eventually(lambda: self._known() >= partitions, TIMEOUT):
            for number in range(partitions):
                self.produced.setdefault(number, 0)

    def finish(self) -> None:
        """Stop, and return when the broker has every record, each number at its own offset."""
        self._stop.set()
        self._thread.join()
        assert self._producer.flush(60) == 0, "the broker did not acknowledge the test's own records"
        assert not self._faults, self._faults[:5]

    def _known(self) -> int:
        try:
            return len(self._producer.list_topics(self._topic, timeout=2).topics[self._topic].partitions)
        except KafkaException:
            return 0

    def _run(self) -> None:
        while not self._stop.wait(_EVERY):
            for partition in list(self.produced):
                self._write(partition)
            self._producer.poll(0)

    def _write(self, partition: int) -> None:
        for _ in range(self._burst):
            number = self.produced[partition]
            text = b"%d" % number
            headers = [("number", text)] if number % ERRANT_EVERY == ERRANT_EVERY - 1 else []
            try:
                self._producer.produce(
                    self._topic,
                    text,
                    b"%d" % partition,
                    partition,
                    on_delivery=self._check if number % ERRANT_EVERY == 0 else None,
                    headers=headers,
                )
            except (KafkaException, BufferError):
                return  # the partition is not in this client's metadata yet, or the broker is down: retry next time
            self.produced[partition] = number + 1

    def _check(self, error: Any, message: Any) -> None:
        if error or message.offset() != int(message.value()):
            self._faults.append(f"{error} {message.value()!r} is at {message.offset()} of {message.partition()}")
