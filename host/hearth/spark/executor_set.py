"""The executors of one Spark: which there are and which run what, asking for more, and giving one back."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.config.capacity_key import Capacity

ALL = (1 << 31) - 1
"""As many executors as the cluster gives; Spark has no other word for it."""
NONE_YET = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
}
"""The settings of a Spark that begins without executors; an ``ExecutorSet`` asks for some."""
FRESH_SECONDS = 1.0
"""How long it is taken for granted that executors are there which were seen."""
_DRIVER, _NOWHERE = "driver", ""


@dataclass(frozen=True)
class Executor:
    """An executor that Spark knows; one that is ``leaving`` takes no task any more."""

    id: str
    host: str
    slots: int
    is_leaving: bool = False

    @property
    def place(self) -> str:
        """Return what Spark calls it where a task says what it prefers (`TaskLocation`)."""
        return f"executor_{self.host}_{self.id}"


def starting_settings(capacity: Capacity) -> Mapping[str, str]:
    """Return the settings of a Spark that begins with as few executors as there may be, on whatever cluster.

    Only its own allocation can begin so, so it is there until ``ExecutorSet`` ends it: it goes by tasks that wait.
    """
    return {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": str(capacity.least),
        "spark.dynamicAllocation.maxExecutors": str(capacity.most),
        # An executor that is decommissioned takes no task any more, and ends when it has none.
        "spark.decommission.enabled": "true",
        # Which executor a task prefers is where it is put if there is room; none waits for that.
        "spark.locality.wait": "0s",
    }


class ExecutorSet:
    """The executors of a context that began with few, or none; from now on it has as many as are asked for.

    Calls ask Spark, and may raise.

    Where a task runs Spark is asked once for each of its runs. What was submitted and has not begun counts for the
    executor that it was meant for.
    """

    def __init__(self, context: Any, clock: Callable[[], float] = time.monotonic) -> None:
        self._context, self._clock = context, clock
        self._looked_at = -FRESH_SECONDS
        self._wanted: int | None = None
        self._spark = context._jsc.sc()
        self._jvm = context._jvm
        self._lock = threading.Lock()
        self._present: dict[str, Executor] = {}
        self._places: dict[str, str] = {}
        """The executor of each job group, as far as it is known or meant."""
        self._certain: set[str] = set()
        manager = self._spark.executorAllocationManager()
        if manager.isDefined():
            manager.get().stop()

    def ask_for(self, count: int) -> None:
        """Have so many executors, which Spark takes for a limit as well: it replaces what is lost up to that."""
        self._wanted = count
        nobody = getattr(getattr(self._jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
        self._spark.requestTotalExecutors(count, 0, nobody)

    def ask_again(self) -> None:
        """Ask for as many as before: a standalone master that recovers has only kept what Spark began with."""
        if self._wanted is not None:
            self.ask_for(self._wanted)

    def give_back(self, executor: str) -> None:
        """Put no task on an executor any more, and end it when it runs none; no other comes in its place."""
        why = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
            "it is not needed any more", self._jvm.scala.Option.empty()
        )
        self._spark.schedulerBackend().decommissionExecutor(executor, why, True, False)

    def look(self) -> list[Executor]:
        """Return the executors that there are now."""
        backend, found = self._spark.schedulerBackend(), []
        listed = self._spark.statusStore().executorList(True)
        for number in range(listed.size()):
            each = listed.apply(number)
            if each.id() != _DRIVER:
                host = each.hostPort().rpartition(":")[0]
                is_leaving = not backend.isExecutorActive(each.id())
                found.append(Executor(each.id(), host, each.totalCores(), is_leaving))
        with self._lock:
            self._present, self._looked_at = {each.id: each for each in found}, self._clock()
        return found

    def prefer(self, group: str) -> str | None:
        """Return the place that a run is to prefer, with the fewest others of those that have room, and note it."""
        if self._clock() - self._looked_at >= FRESH_SECONDS:
            self.look()
        with self._lock:
            self._places[group] = _NOWHERE
            self._certain.discard(group)
            taken = Counter(self._places.values())
            free = [each for each in self._present.values() if not each.is_leaving and taken[each.id] < each.slots]
            if not free:
                return None
            chosen = min(free, key=lambda each: taken[each.id])
            self._places[group] = chosen.id
            return chosen.place

    def ended(self, group: str) -> None:
        """Note that a run is over."""
        with self._lock:
            self._places.pop(group, None)
            self._certain.discard(group)

    def is_running(self, group: str) -> bool:
        """Return whether a run was seen to run."""
        with self._lock:
            return group in self._certain

    def tasks(self) -> dict[str, list[str]]:
        """Return the job groups by executor, having asked where those run that are not known to yet.

        Spark itself runs a task again whose executor was lost.
        """
        with self._lock:
            self._certain = {group for group in self._certain if self._places[group] in self._present}
            unknown = [group for group in self._places if group not in self._certain]
        for group in unknown:
            if (executor := self._executor_of(group)) is not None:
                with self._lock:
                    if group in self._places:
                        self._places[group] = executor
                        self._certain.add(group)
        with self._lock:
            found: dict[str, list[str]] = {}
            for group, executor in sorted(self._places.items()):
                found.setdefault(executor, []).append(group)
            return found

    def _executor_of(self, group: str) -> str | None:
        """Return where the task of a group runs, None where it does not."""
        store = self._spark.statusStore()
        for stage in self._stages(group):
            with contextlib.suppress(Exception):  # of a stage that was dropped meanwhile nothing is known
                listed = store.taskList(stage, 0, 10)
                for number in range(listed.size()):
                    task = listed.apply(number)
                    if task.status() == "RUNNING":
                        return str(task.executorId())
        return None

    def _stages(self, group: str) -> Iterator[int]:
        tracker = self._context.statusTracker()
        for job in tracker.getJobIdsForGroup(group):
            found = tracker.getJobInfo(job)
            if found is not None and found.status == "RUNNING":
                yield from found.stageIds
