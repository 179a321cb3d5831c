"""How far the sinks of this host are behind the ends of their partitions, and for how long."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
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
SOON_SECONDS = 2.0
"""The least time between two requests, for whoever asks about a single connector."""
KEPT_SECONDS = 3600.0
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

    Whoever looks gets what is known, and starts one request for all partitions whose last one is older than half a
    minute: a host that nobody watches asks nothing. Thread-safe.
    """

    def __init__(self, connect: Callable[[Access], EndOffsets], clock: Callable[[], float] = time.monotonic) -> None:
        self._connect, self._clock = connect, clock
        self._lock = threading.Lock()
        self._ends: dict[tuple[Access, Place], deque[tuple[float, int]]] = {}
        self._admins: dict[Access, EndOffsets] = {}
        self._asked_at: dict[tuple[Access, Place], float] = {}
        self._looked_at: dict[tuple[Access, Place], float] = {}
        self._known_at: dict[tuple[Access, Place], float] = {}
        """When the request began that the ends are known by."""
        self._is_asking = False

    def look(self, wanted: Mapping[Access, set[Place]], refresh: float = REFRESH_SECONDS) -> threading.Thread | None:
        """Ask for the ends that were not asked for in the last ``refresh`` seconds; return the thread that asks."""
        with self._lock:
            now = self._clock()
            self._looked_at.update(((access, place), now) for access, places in wanted.items() for place in places)
            self._forget(now)
            due = {
                access: old
                for access, places in wanted.items()
                if (old := {each for each in places if now - self._asked_at.get((access, each), -math.inf) >= refresh})
            }
            if not due or self._is_asking:
                return None
            self._is_asking = True
            self._asked_at.update(((access, place), now) for access, places in due.items() for place in places)
        thread = threading.Thread(target=self._ask, args=[due], name="sink-lag", daemon=True)
        thread.start()
        return thread

    def _forget(self, now: float) -> None:
        """Forget partitions, and clients, that nobody has looked at for long."""
        old = [key for key, at in self._looked_at.items() if now - at > KEPT_SECONDS]
        for key in old:
            for known in (self._looked_at, self._asked_at, self._known_at, self._ends):
                known.pop(key, None)
        if old:
            used = {access for access, _ in self._looked_at}
            self._admins = {access: admin for access, admin in self._admins.items() if access in used}

    def of(self, access: Access, committed: Mapping[Place, int]) -> list[PartitionLag]:
        """Return the lag of partitions whose committed offsets are given."""
        with self._lock:
            now = self._clock()
            return [self._lag(access, place, offset, now) for place, offset in sorted(committed.items())]

    def asked_ago(self, access: Access, places: Collection[Place]) -> float | None:
        """Return how many seconds ago the ends of all these partitions were known, None if not all are."""
        with self._lock:
            now = self._clock()
            oldest = min((self._known_at.get((access, place), -math.inf) for place in places), default=-math.inf)
            return now - oldest if math.isfinite(oldest) else None

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
        begun = self._clock()
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
            self._known_at.update(((access, place), begun) for place in found)
            for place, end in found.items():
                samples = self._ends.setdefault((access, place), deque(maxlen=KEPT_SAMPLES))
                if not samples or samples[-1][1] != end:
                    samples.append((now, end))
