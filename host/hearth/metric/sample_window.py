"""Rates, averages and extremes of the last time, as Kafka's ``Metrics`` computes them."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class SampleWindows:
    """How far back the metrics look: so many samples of so many seconds.

    These are ``metrics.num.samples`` and ``metrics.sample.window.ms``.
    """

    samples: int = 2
    seconds: float = 30.0

    @classmethod
    def of(cls, samples: int, milliseconds: int) -> SampleWindows:
        """Return the windows of a worker's settings; a sample has at least a millisecond."""
        return cls(samples, max(milliseconds, 1) / 1000)


@dataclass(slots=True)
class _Sample:
    began: float
    last: float
    total: float = 0.0
    count: float = 0
    most: float = -math.inf
    least: float = math.inf


class WindowedStat:
    """The events of the last samples: the sum of their values, how many, and the extremes.

    As in Kafka, a sample ends with the first event after its time, and counts as long as its last event is within the
    whole window. Times are in seconds of the caller's clock.
    """

    __slots__ = ("_samples", "_windows")

    def __init__(self, windows: SampleWindows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []

    def record(self, now: float, total: float, count: float = 1, most: float = 0.0, least: float = 0.0) -> None:
        """Add ``count`` events whose values have this sum and these extremes."""
        samples = self._samples
        if not samples or now - samples[-1].began >= self._windows.seconds:
            samples.append(_Sample(now, now))
            del samples[: -self._windows.samples]
        sample = samples[-1]
        sample.last = now
        sample.total += total
        sample.count += count
        sample.most = max(sample.most, most)
        sample.least = min(sample.least, least)

    def rate(self, now: float) -> float:
        """Return the sum of the values per second; 0 without events.

        As Kafka's, it counts the samples that have not begun yet as if they were over.
        """
        live = self._live(now)
        if not live:
            return 0.0
        seconds, needed = now - live[0].began, self._windows.samples - 1
        if (full := int(seconds / self._windows.seconds)) < needed:
            seconds += (needed - full) * self._windows.seconds
        return sum(each.total for each in live) / (seconds or self._windows.seconds)

    def average(self, now: float) -> float:
        """Return the average value; NaN without events."""
        live = self._live(now)
        count = sum(each.count for each in live)
        return sum(each.total for each in live) / count if count else math.nan

    def most(self, now: float) -> float:
        """Return the greatest value; NaN without events."""
        return max((each.most for each in self._live(now)), default=math.nan)

    def least(self, now: float) -> float:
        """Return the least value; NaN without events."""
        return min((each.least for each in self._live(now)), default=math.nan)

    def share(self, now: float) -> float | None:
        """Return the sum of the values as a share of the number of events; None without events."""
        live = self._live(now)
        count = sum(each.count for each in live)
        return sum(each.total for each in live) / count if count else None

    def _live(self, now: float) -> list[_Sample]:
        if not self._samples:
            return self._samples
        oldest = now - self._windows.samples * self._windows.seconds
        return [each for each in self._samples if each.last > oldest]
