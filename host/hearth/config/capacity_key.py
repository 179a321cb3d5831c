"""The keys for the number of executors, as in managed services, where a worker corresponds to one executor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hearth.config.confinement_key import absent_or_at_least
from hearth_api import ConfigError, Importance, Range, Settings, key

COUNT = "capacity.worker.count"
LEAST, MOST = "autoscaling.min.worker.count", "autoscaling.max.worker.count"
OUT = "autoscaling.scale.out.cpu.utilization.percentage"
IN = "autoscaling.scale.in.cpu.utilization.percentage"
CAPACITY_KEYS = (COUNT, LEAST, MOST, OUT, IN)
OTHER_COUNTS = ("spark.executor.instances", "spark.dynamicAllocation.initialExecutors")
"""Spark's own keys for the same purpose."""


@dataclass(frozen=True)
class Capacity:
    """The number of executors, and the CPU utilization thresholds between which it stays (0 to 1)."""

    least: int
    most: int
    scale_in: float
    scale_out: float


class CapacityConfig(Settings):
    """The number of executors: fixed, or a range that autoscales by mean CPU utilization; otherwise Spark decides."""

    worker_count: int | None = key(
        COUNT,
        default=None,
        check=absent_or_at_least(1),
        importance=Importance.MEDIUM,
        doc="The fixed number of executors. If neither this nor autoscaling is set, spark.cores.max, "
        "spark.executor.instances and related Spark settings determine it.",
    )
    least_worker_count: int | None = key(
        LEAST,
        default=None,
        check=absent_or_at_least(1),
        importance=Importance.MEDIUM,
        doc=f"The minimum number of executors; requires {MOST}. Executors are added and removed within the range by "
        "their mean CPU utilization; one is also added when tasks wait for capacity.",
    )
    most_worker_count: int | None = key(
        MOST,
        default=None,
        check=absent_or_at_least(1),
        importance=Importance.MEDIUM,
        doc=f"The maximum number of executors, see {LEAST}.",
    )
    scale_out_percentage: int = key(
        OUT,
        default=80,
        check=Range.between(1, 100),
        importance=Importance.LOW,
        doc="The mean CPU utilization, in percent, above which an executor is added. 100 percent is "
        "spark.executor.cores processors, or all of its machine's if those are fewer.",
    )
    scale_in_percentage: int = key(
        IN,
        default=20,
        check=Range.between(1, 100),
        importance=Importance.LOW,
        doc="The mean CPU utilization, in percent, below which an executor is removed after some time. Its tasks "
        "drain first and continue elsewhere.",
    )

    def __init__(self, props: Mapping[str, Any]) -> None:
        super().__init__(props)
        self.capacity = self._capacity()

    def _capacity(self) -> Capacity | None:
        """Return the capacity from these keys, None if none is set; raise ConfigError for an invalid combination."""
        count, least, most = self.worker_count, self.least_worker_count, self.most_worker_count
        loads = self.scale_in_percentage / 100, self.scale_out_percentage / 100
        if count is None and least is None and most is None:
            if given := next((name for name in (OUT, IN) if name in self.originals), None):
                raise ConfigError(given, self.originals[given], f"it has no effect without {LEAST} and {MOST}")
            return None
        self._refuse_others()
        if count is not None:
            if given := next((name for name in CAPACITY_KEYS[1:] if name in self.originals), None):
                raise ConfigError(
                    given,
                    self.originals[given],
                    f"{COUNT}={count} sets a fixed number: remove one of the two",
                )
            return Capacity(count, count, *loads)
        if least is None or most is None:
            raise ConfigError(LEAST if least is None else MOST, None, f"{LEAST} and {MOST} must be set together")
        if least > most:
            raise ConfigError(LEAST, least, f"it must not be greater than {MOST}={most}")
        if loads[0] >= loads[1]:
            raise ConfigError(IN, self.scale_in_percentage, f"it must be less than {OUT}={self.scale_out_percentage}")
        return Capacity(least, most, *loads)

    def _refuse_others(self) -> None:
        """Raise ConfigError if Spark's own keys set the number as well."""
        if str(self.originals.get("spark.dynamicAllocation.enabled", "")).strip().lower() == "true":
            raise ConfigError(
                "spark.dynamicAllocation.enabled",
                "true",
                f"Spark would set the number in addition to {COUNT} and {LEAST}: remove one of the two",
            )
        if given := next((name for name in OTHER_COUNTS if name in self.originals), None):
            raise ConfigError(
                given, self.originals[given], f"{COUNT}, or {LEAST} and {MOST}, say how many executors there are"
            )
