"""How long rows wait for company: ``linger.ms``, kept by who sends them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

DEFAULT_MS = 5
"""Java's ``linger.ms``, and librdkafka's."""
LONGEST_MS = 10_000
"""How long librdkafka is to keep rows whose request is not full, unless it is told to send them before."""
_ENDS = ("message.timeout.ms", "transaction.timeout.ms")
"""What must be longer."""
_LEAST_SECONDS = 0.001
_MOST_SECONDS = 1.0
_BESIDE_SECONDS = 0.1
"""How long rows wait at most while others come back all the time, as those of a partition that gets few, or while
their sender has other things to do."""


class Linger:
    """Says when librdkafka is to send what it has, full request or not.

    librdkafka would do so itself. But the one request that an idempotent producer may have on its way to a partition
    keeps the next rows back, and where these have waited for ``linger.ms`` its thread asks without a pause whether
    they may go: a whole processor, and the lock that ``produce_batch`` needs for each row. So it is told to wait for
    much longer, and rows are hurried by who has nothing more to send: at once where nothing was hurried and nothing
    came back for ``linger.ms``, and again, after twice as long each time, while nothing comes back. Where requests are
    full they come back all the time, so they need nobody to hurry them.

    librdkafka sends a request for each partition, and a few at once. So where rows go to many partitions those that
    were hurried are hurried again as soon as some of them are back, until all are. That takes a while, and the next
    rows wait for as long, unless there is little room: else a broker would get hundreds of requests of a few rows.
    """

    def __init__(
        self, milliseconds: float, clock: Callable[[], float] = time.monotonic, *, pauses: bool = True
    ) -> None:
        """With ``pauses`` rows wait for as long as earlier ones took; a transaction would end that much later."""
        self._pauses = pauses
        self._seconds = max(milliseconds / 1000, _LEAST_SECONDS)
        self._clock = clock
        self._told = self._hurried = clock() - _BESIDE_SECONDS
        """When something came back, and when rows were hurried."""
        self._tries = 0
        """How often the same rows were hurried."""
        self._owed = 0
        """How many of the rows that were hurried have not come back: librdkafka may have sent some of them only."""
        self._begun = self._pause = 0.0
        """When the rows that are owed were hurried first, and how long it took until all were back, if that was not
        enough: others wait for as long, so that there are fewer requests with more rows."""
        self._is_crowded = False
        """Whether there is no room for many more rows."""
        self._is_full = False
        """Whether a full request is on its way, which comes back by itself if anything does."""

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Linger:
        """Return what a producer's configuration asks for; what is no number is for librdkafka to refuse."""
        asked = _number(config.get("linger.ms"))
        return cls(DEFAULT_MS if asked is None else asked, pauses="transactional.id" not in config)

    @staticmethod
    def lengthened(config: Mapping[str, str]) -> dict[str, str]:
        """Return the configuration for librdkafka; without keys it stays with a partition for as long as it would."""
        asked = _number(config.get("linger.ms", str(DEFAULT_MS)))
        longest = min([LONGEST_MS, *(end / 2 for key in _ENDS if (end := _number(config.get(key))))])
        if asked is None or asked >= longest:
            return dict(config)
        return {"sticky.partitioning.linger.ms": f"{2 * asked:.0f}", **config, "linger.ms": f"{longest:g}"}

    @property
    def left_ms(self) -> int:
        """Return how many milliseconds rows that are on their way may wait for company."""
        return max(0, math.ceil((self._due() - self._clock()) * 1000 - 0.001))

    @property
    def is_late(self) -> bool:
        """Return whether they have waited for so long that also who does not wait hurries them."""
        return self._clock() >= self._due() + (0.0 if self._is_owed else _BESIDE_SECONDS)

    def sent(self, *, is_full: bool = False, is_crowded: bool = False) -> None:
        """Take note that rows were handed to librdkafka, whether a request is full now, and whether many wait."""
        self._tries, self._is_full, self._is_crowded = 0, is_full, is_crowded

    def told(self, count: int = 0, *, is_full: bool = False) -> None:
        """Take note that so many rows came back, and whether another request is full."""
        self._told, self._tries, self._is_full = self._clock(), 0, is_full
        if self._pauses and self._owed and self._hurried > self._begun:
            self._pause = min(self._told - self._begun, _BESIDE_SECONDS)
        self._owed = max(0, self._owed - count)

    def hurried(self, count: int = 0) -> None:
        """Take note that librdkafka was told to send what it has, which is so many rows."""
        is_first = not self._is_owed
        self._hurried, self._tries = self._clock(), min(self._tries + 1, 20)
        if is_first:
            self._begun, self._owed, self._pause = self._hurried, count, 0.0

    @property
    def _is_owed(self) -> bool:
        """Return whether some of the rows that were hurried came back, and not all: the others may not be sent."""
        return self._owed > 0 and self._told > self._hurried and not self._is_full

    def _due(self) -> float:
        if self._is_owed:
            return self._told
        beside = self._hurried + _BESIDE_SECONDS
        if self._tries:
            due = self._hurried + min(math.ldexp(self._seconds, self._tries), _MOST_SECONDS)
        else:
            pause = 0.0 if self._is_crowded else self._pause
            due = max(self._hurried, min(self._told, beside)) + max(self._seconds, pause)
        return max(due, beside) if self._is_full else due


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
