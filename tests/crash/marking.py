"""Recognisable records: one for each partition of some topics, awaited in the files that sinks write."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

PARTITIONS = 3
LONG_SESSION = {"consumer.override.session.timeout.ms": "120000"}
"""Shorter than a session timeout: waiting for a session to expire fails the test."""


class Marking:
    """The marks of one test and the files in which they have to arrive."""

    def __init__(self, topics: Topics, name: str, *files: Path) -> None:
        """Describe marks in topics whose names start with ``name``."""
        self._topics = topics
        self.name = name
        self.files = files
        self.made: list[str] = []
        self._numbers = itertools.count()

    def topic(self, suffix: str) -> str:
        """Create a topic of three partitions and return its name."""
        self._topics.create(f"{self.name}-{suffix}", PARTITIONS)
        return f"{self.name}-{suffix}"

    def mark(self, *topics: str) -> list[str]:
        """Write one record to each partition of these topics, and return the values."""
        number = next(self._numbers)
        made = []
        for topic in topics:
            values = [json.dumps([number, topic, partition]) for partition in range(PARTITIONS)]
            records = [Record(None, value.encode(), (), partition) for partition, value in enumerate(values)]
            self._topics.produce(topic, records)
            made += values
        self.made += made
        return made

    def lines(self) -> list[str]:
        """Return the lines of all files."""
        return [line for file in self.files if file.exists() for line in file.read_text().splitlines()]

    def arrive(self, *topics: str, timeout: float = TIMEOUT) -> None:
        """Mark these topics and wait until the marks arrive."""
        made = set(self.mark(*topics))
        eventually(lambda: made <= set(self.lines()), timeout)
        missing = made - set(self.lines())
        assert not missing, f"after {timeout:g} s these have not arrived: {sorted(missing)}"

    def arrived_once(self, besides: Sequence[str] = ()) -> None:
        """Check that every mark arrived exactly once, and nothing else did."""
        assert sorted(self.lines()) == sorted(set(self.made) - set(besides))
