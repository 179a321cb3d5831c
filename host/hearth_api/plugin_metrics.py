"""Metrics that a plugin registers itself; follows Kafka's `PluginMetrics` (KIP-877)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

MetricValue = float | int | bool | str | None
WINDOW_SECONDS, WINDOWS = 30.0, 2
"""Averages, rates and extremes look at so many windows, as in Kafka Connect with its defaults."""
RESERVED = ("connector", "task")
"""Tags that the host adds."""


class MetricStat(str, Enum):
    """What a sensor's metric shows of the recorded values, by Kafka's names."""

    AVG = "avg"
    MAX = "max"
    MIN = "min"
    RATE = "rate"
    """Their sum per second."""
    TOTAL = "total"
    """Their sum since the start."""
    COUNT = "count"
    """How many there were since the start."""
    VALUE = "value"
    """The last one."""


@dataclass(frozen=True)
class RegisteredMetric:
    """A metric with its value now; `None` if it has none."""

    name: str
    description: str
    tags: dict[str, str]
    value: MetricValue


@dataclass
class _Window:
    """The values that were recorded in one window of time."""

    number: int
    count: int = 0
    total: float = 0.0
    most: float = -math.inf
    least: float = math.inf


class MetricSensor:
    """Records values, such as times or sizes, for one or several metrics. Thread-safe."""

    def __init__(self, registry: PluginMetrics, clock: Callable[[], float]) -> None:
        self._registry, self._clock = registry, clock
        self._lock = threading.Lock()
        self._windows: list[_Window] = []
        self._count, self._total, self._last = 0, 0.0, math.nan
        self._began = clock()

    def add(
        self, name: str, stat: MetricStat, description: str = "", tags: Mapping[str, str] | None = None
    ) -> MetricSensor:
        """Register a metric of the recorded values, and return this sensor. Raises what `gauge` raises."""
        self._registry._register(name, lambda: self._show(stat), description, tags, self)
        return self

    def record(self, value: float = 1.0) -> None:
        """Record a value; costs about a microsecond, and does not block."""
        number = int(self._clock() / WINDOW_SECONDS)
        with self._lock:
            if not self._windows or self._windows[-1].number != number:
                self._windows = [*self._windows[-(WINDOWS - 1) :], _Window(number)]
            window = self._windows[-1]
            window.count += 1
            window.total += value
            window.most, window.least = max(window.most, value), min(window.least, value)
            self._count += 1
            self._total += value
            self._last = value

    def _show(self, stat: MetricStat) -> MetricValue:
        with self._lock:
            now = self._clock()
            oldest = int(now / WINDOW_SECONDS) - WINDOWS + 1
            recent = [each for each in self._windows if each.number >= oldest]
            count, total = sum(each.count for each in recent), sum(each.total for each in recent)
            seconds = min(now - self._began, now - oldest * WINDOW_SECONDS)
            shown: dict[MetricStat, MetricValue] = {
                MetricStat.AVG: total / count if count else None,
                MetricStat.MAX: max((each.most for each in recent), default=None),
                MetricStat.MIN: min((each.least for each in recent), default=None),
                MetricStat.RATE: total / max(seconds, WINDOW_SECONDS),
                MetricStat.TOTAL: self._total,
                MetricStat.COUNT: self._count,
                MetricStat.VALUE: self._last if self._count else None,
            }
            return shown[stat]


class PluginMetrics:
    """The metrics of one task, on the worker's `/metrics` in the group `plugins`. Thread-safe.

    The host adds the tags `connector` and `task`. It asks for values while somebody reads its metrics, every few
    seconds, on a thread of its own.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds; tests may give another."""
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[
            tuple[str, tuple[tuple[str, str], ...]], tuple[str, Callable[[], MetricValue], MetricSensor | None]
        ] = {}
        self._sensors: dict[str, MetricSensor] = {}
        self._is_closed = False

    def gauge(
        self,
        name: str,
        read: Callable[[], MetricValue],
        description: str = "",
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """Register a metric whose value `read` returns: a number, a truth value, a text, or `None` for none now.

        `read` is called on another thread and must return at once; an exception counts as `None`. Raises
        `ValueError` for an empty name, a reserved tag, or a metric with the same name and tags, and `RuntimeError`
        after the task has stopped.
        """
        self._register(name, read, description, tags, None)

    def sensor(self, name: str) -> MetricSensor:
        """Return the sensor of this name, which is created with the first call. Raises `RuntimeError` as `gauge`."""
        with self._lock:
            self._refuse_closed()
            if name not in self._sensors:
                self._sensors[name] = MetricSensor(self, self._clock)
            return self._sensors[name]

    def remove(self, name: str, tags: Mapping[str, str] | None = None) -> None:
        """Remove a metric; raises `ValueError` if there is none of this name with these tags."""
        with self._lock:
            if self._known.pop(_key(name, tags), None) is None:
                raise ValueError(f"there is no metric {name!r} with the tags {dict(tags or {})!r}")

    def remove_sensor(self, name: str) -> None:
        """Remove a sensor with its metrics; raises `ValueError` if there is none of this name."""
        with self._lock:
            sensor = self._sensors.pop(name, None)
            if sensor is None:
                raise ValueError(f"there is no sensor {name!r}")
            self._known = {key: each for key, each in self._known.items() if each[2] is not sensor}

    def values(self) -> Iterator[RegisteredMetric]:
        """Yield all metrics with their values now; called by the host, and by tests."""
        with self._lock:
            known = list(self._known.items())
        for (name, tags), (description, read, _) in known:
            try:
                value = read()
            except Exception:  # the plugin's; others still have values
                value = None
            yield RegisteredMetric(name, description, dict(tags), value)

    def close(self) -> None:
        """Remove everything; called by the host when the task has stopped."""
        with self._lock:
            self._is_closed = True
            self._known.clear()
            self._sensors.clear()

    def _register(
        self,
        name: str,
        read: Callable[[], MetricValue],
        description: str,
        tags: Mapping[str, str] | None,
        sensor: MetricSensor | None,
    ) -> None:
        if not name:
            raise ValueError("a metric needs a name")
        if taken := [each for each in RESERVED if each in (tags or {})]:
            raise ValueError(f"the tag {taken[0]!r} of metric {name!r} is reserved: the host adds it")
        key = _key(name, tags)
        with self._lock:
            self._refuse_closed()
            if key in self._known:
                raise ValueError(f"a metric {name!r} with the tags {dict(tags or {})!r} exists already")
            self._known[key] = description, read, sensor

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise RuntimeError("the task has stopped, so it registers no metrics")


def _key(name: str, tags: Mapping[str, str] | None) -> tuple[str, tuple[tuple[str, str], ...]]:
    return name, tuple(sorted((tags or {}).items()))
