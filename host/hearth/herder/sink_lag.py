"""How far the sinks of this host are behind the ends of their partitions, and for how long."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from hearth.kafka.kafka_error import KafkaError
from hearth_api import ConnectError

log = logging.getLogger(__name__)

Place = tuple[str, int]
"""A topic and the number of a partition."""
Access = tuple[tuple[str, str], ...]
"""Settings of an admin client."""
REFRESH_SECONDS = 30.0
ANSWER_SECONDS = 10.0
KEPT_SAMPLES = 240
"""Two hours of samples at the usual interval."""


class EndOffsets(Protocol):
    """Asks brokers; implemented by `TopicAdmin`."""

    def end_offsets(self, places: list[Place], timeout: float) -> dict[Place, int]:
        """Return the end offset of each partition; raises ConnectError."""


@dataclass(frozen=True)
class PartitionLag:
    """A partition of a sink: its committed offset, its end, the records between, and the age of the oldest of them.

    The age in seconds is how long ago the end was first seen beyond the committed offset. Both are NaN while the end
    is unknown.
    """

    topic: str
    partition: int
    committed: int
    end: int | None
    records: float
    seconds: float


class SinkLag:
    """Knows the ends of partitions that somebody looked at lately.

    Whoever looks gets what is known, and starts a request for all partitions together if the last one is older than
    half a minute: a host that nobody watches asks nothing. Thread-safe.
    """

    def __init__(self, connect: Callable[[Access], EndOffsets], clock: Callable[[], float] = time.monotonic) -> None:
        self._connect, self._clock = connect, clock
        self._lock = threading.Lock()
        self._ends: dict[tuple[Access, Place], deque[tuple[float, int]]] = {}
        self._admins: dict[Access, EndOffsets] = {}
        self._asked_at = -math.inf
        self._is_asking = False

    def look(self, wanted: Mapping[Access, set[Place]]) -> threading.Thread | None:
        """Ask for the ends of these partitions unless they were asked for lately; return the thread that asks."""
        with self._lock:
            if not wanted or self._is_asking or self._clock() - self._asked_at < REFRESH_SECONDS:
                return None
            self._is_asking, self._asked_at = True, self._clock()
            known = {(access, place) for access, places in wanted.items() for place in places}
            self._ends = {key: ends for key, ends in self._ends.items() if key in known}
            self._admins = {access: admin for access, admin in self._admins.items() if access in wanted}
        thread = threading.Thread(target=self._ask, args=[wanted], name="sink-lag", daemon=True)
        thread.start()
        return thread

    def of(self, access: Access, committed: Mapping[Place, int]) -> list[PartitionLag]:
        """Return the lag of partitions whose committed offsets are given."""
        with self._lock:
            now = self._clock()
            return [self._lag(access, place, offset, now) for place, offset in sorted(committed.items())]

    def _lag(self, access: Access, place: Place, committed: int, now: float) -> PartitionLag:
        ends = self._ends.get((access, place))
        if not ends:
            return PartitionLag(*place, committed, None, math.nan, math.nan)
        end = max(ends[-1][1], committed)
        since = next((at for at, each in ends if each > committed), now)
        return PartitionLag(*place, committed, end, end - committed, now - since)

    def _ask(self, wanted: Mapping[Access, set[Place]]) -> None:
        try:
            for access, places in wanted.items():
                self._ask_one(access, places)
        finally:
            self._is_asking = False

    def _ask_one(self, access: Access, places: set[Place]) -> None:
        try:
            admin = self._admins.get(access)
            if admin is None:
                admin = self._admins[access] = self._connect(access)
            found = admin.end_offsets(sorted(places), ANSWER_SECONDS)
        except (ConnectError, KafkaError) as error:
            log.debug("the lag of sinks is not known now: %s", error)
            return
        with self._lock:
            now = self._clock()
            for place, end in found.items():
                samples = self._ends.setdefault((access, place), deque(maxlen=KEPT_SAMPLES))
                if not samples or samples[-1][1] != end:
                    samples.append((now, end))
