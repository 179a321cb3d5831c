"""The keys that say how many workers Spark is to give a host, as managed services have them; there a worker is one
executor.
"""

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
"""Keys of Spark that say the same, in other words."""


@dataclass(frozen=True)
class Capacity:
    """How many executors there are to be, and between which loads: shares of the CPU that they may use, 0 to 1."""

    least: int
    most: int
    scale_in: float
    scale_out: float


class CapacityConfig(Settings):
    """How many executors there are to be: a number, or two between which their mean CPU decides; else Spark does."""

    worker_count: int | None = key(
        COUNT,
        default=None,
        check=absent_or_at_least(1),
        importance=Importance.MEDIUM,
        doc="How many executors tasks run on, no more and no fewer. Without it, and without autoscaling, Spark gives "
        "what spark.cores.max, spark.executor.instances and their like say.",
    )
    least_worker_count: int | None = key(
        LEAST,
        default=None,
        check=absent_or_at_least(1),
        importance=Importance.MEDIUM,
        doc=f"How many executors there are at least; {MOST} belongs to it. Executors come and go between the "
        "two by their mean CPU, and one comes where tasks wait for a place.",
    )
    most_worker_count: int | None = key(
        MOST,
        default=None,
        check=absent_or_at_least(1),
        importance=Importance.MEDIUM,
        doc=f"How many executors there are at most, see {LEAST}.",
    )
    scale_out_percentage: int = key(
        OUT,
        default=80,
        check=Range.between(1, 100),
        importance=Importance.LOW,
        doc="Above which mean CPU of the executors another one is asked for, in percent of what they may use: as many "
        "processors as spark.executor.cores, and no more than their machine has.",
    )
    scale_in_percentage: int = key(
        IN,
        default=20,
        check=Range.between(1, 100),
        importance=Importance.LOW,
        doc="Below which mean CPU for a while one of them is given back, in percent likewise, once its tasks have "
        "drained and gone on elsewhere.",
    )

    def __init__(self, props: Mapping[str, Any]) -> None:
        super().__init__(props)
        self.capacity = self._capacity()

    def _capacity(self) -> Capacity | None:
        """Return what the keys say together, None where they say nothing; raises ConfigError."""
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
                    f"{COUNT}={count} says that there are always as many: leave out either",
                )
            return Capacity(count, count, *loads)
        if least is None or most is None:
            raise ConfigError(LEAST if least is None else MOST, None, f"{LEAST} and {MOST} belong together: give both")
        if least > most:
            raise ConfigError(LEAST, least, f"it has to be no greater than {MOST}={most}")
        if loads[0] >= loads[1]:
            raise ConfigError(
                IN, self.scale_in_percentage, f"it has to be less than {OUT}={self.scale_out_percentage}"
            )
        return Capacity(least, most, *loads)

    def _refuse_others(self) -> None:
        """Raise ConfigError where Spark is to decide as well."""
        if str(self.originals.get("spark.dynamicAllocation.enabled", "")).strip().lower() == "true":
            raise ConfigError(
                "spark.dynamicAllocation.enabled",
                "true",
                f"Spark would decide beside {COUNT} and {LEAST}: leave out either",
            )
        if given := next((name for name in OTHER_COUNTS if name in self.originals), None):
            raise ConfigError(
                given, self.originals[given], f"{COUNT}, or {LEAST} and {MOST}, say how many executors there are"
            )
