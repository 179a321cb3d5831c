"""Implements ``linger.ms``: how long rows wait for others before they are sent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

DEFAULT_MS = 5
"""Java's ``linger.ms``, and librdkafka's."""
LONGEST_MS = 10_000
"""``linger.ms`` of librdkafka itself, which waits that long unless it is flushed."""
_ENDS = ("message.timeout.ms", "transaction.timeout.ms")
"""Timeouts that must be longer."""
_LEAST_SECONDS = 0.001
_MOST_SECONDS = 1.0
_BUSY_SECONDS = 0.1
"""Longest wait while other rows keep coming back (partitions with few rows), or while the sender is busy."""


class Linger:
    """Decides when to flush librdkafka, whether requests are full or not.

    librdkafka could do so itself. But an idempotent producer's single request in flight to a partition holds back the
    next rows, and once these have waited for ``linger.ms`` its thread polls without a pause whether they may go: that
    takes a whole processor, and the lock that ``produce_batch`` needs for each row. So its own linger is much longer,
    and a sender with nothing more to send flushes: at once if nothing was flushed and nothing came back for
    ``linger.ms``, and again after twice the time, repeatedly, while nothing comes back. Full requests come back all
    the time, so they need no flush.

    librdkafka sends one request per partition, and a few at once. So with many partitions the flushed rows are flushed
    again as soon as some of them are back, until all are. The next rows wait for as long as that took, unless there is
    little room: otherwise a broker would get hundreds of requests of a few rows.
    """

    def __init__(
        self, milliseconds: float, clock: Callable[[], float] = time.monotonic, *, pauses: bool = True
    ) -> None:
        """With ``pauses`` rows wait for as long as earlier ones took; a transaction would take that much longer."""
        self._pauses = pauses
        self._seconds = max(milliseconds / 1000, _LEAST_SECONDS)
        self._clock = clock
        self._returned_at = self._flushed_at = clock() - _BUSY_SECONDS
        """When rows last came back, and when they were last flushed."""
        self._tries = 0
        """How often the same rows were flushed."""
        self._outstanding = 0
        """How many of the flushed rows have not come back: librdkafka may have sent only some."""
        self._started_at = self._pause = 0.0
        """When the outstanding rows were first flushed, and how long until all were back if one flush was not enough.

        Other rows wait for as long, so that there are fewer requests with more rows.
        """
        self._is_crowded = False
        """Whether there is no room for many more rows."""
        self._is_full = False
        """Whether a full request is in flight, which comes back without a flush."""

    @classmethod
    def of(cls, config: Mapping[str, str]) -> Linger:
        """Return the linger of a producer's configuration; librdkafka reports values that are no number."""
        asked = _number(config.get("linger.ms"))
        return cls(DEFAULT_MS if asked is None else asked, pauses="transactional.id" not in config)

    @staticmethod
    def lengthened(config: Mapping[str, str]) -> dict[str, str]:
        """Return the configuration for librdkafka, with a long linger and an unchanged sticky partitioner."""
        asked = _number(config.get("linger.ms", str(DEFAULT_MS)))
        longest = min([LONGEST_MS, *(end / 2 for key in _ENDS if (end := _number(config.get(key))))])
        if asked is None or asked >= longest:
            return dict(config)
        return {"sticky.partitioning.linger.ms": f"{2 * asked:.0f}", **config, "linger.ms": f"{longest:g}"}

    @property
    def left_ms(self) -> int:
        """Return how many milliseconds rows in flight may still wait."""
        return max(0, math.ceil((self._due() - self._clock()) * 1000 - 0.001))

    @property
    def is_late(self) -> bool:
        """Return whether rows have waited so long that a busy sender must flush them too."""
        return self._clock() >= self._due() + (0.0 if self._is_partly_back else _BUSY_SECONDS)

    def sent(self, *, is_full: bool = False, is_crowded: bool = False) -> None:
        """Note that rows were sent; ``is_full``: a request is full; ``is_crowded``: little room is left."""
        self._tries, self._is_full, self._is_crowded = 0, is_full, is_crowded

    def returned(self, count: int = 0, *, is_full: bool = False) -> None:
        """Note that ``count`` rows came back, and whether another request is full."""
        self._returned_at, self._tries, self._is_full = self._clock(), 0, is_full
        if self._pauses and self._outstanding and self._flushed_at > self._started_at:
            self._pause = min(self._returned_at - self._started_at, _BUSY_SECONDS)
        self._outstanding = max(0, self._outstanding - count)

    def flushed(self, count: int = 0) -> None:
        """Note that librdkafka was flushed with ``count`` rows."""
        is_first = not self._is_partly_back
        self._flushed_at, self._tries = self._clock(), min(self._tries + 1, 20)
        if is_first:
            self._started_at, self._outstanding, self._pause = self._flushed_at, count, 0.0

    @property
    def _is_partly_back(self) -> bool:
        """Return whether only some of the flushed rows came back: the others may not be sent yet."""
        return self._outstanding > 0 and self._returned_at > self._flushed_at and not self._is_full

    def _due(self) -> float:
        if self._is_partly_back:
            return self._returned_at
        busy_until = self._flushed_at + _BUSY_SECONDS
        if self._tries:
            due = self._flushed_at + min(math.ldexp(self._seconds, self._tries), _MOST_SECONDS)
        else:
            pause = 0.0 if self._is_crowded else self._pause
            due = max(self._flushed_at, min(self._returned_at, busy_until)) + max(self._seconds, pause)
        return max(due, busy_until) if self._is_full else due


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
