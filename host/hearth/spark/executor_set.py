"""The executors of one Spark application: lists them with their tasks, requests more and releases one."""

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
"""As many executors as the cluster provides; Spark has no constant for it."""
NONE_YET = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "0",
    "spark.dynamicAllocation.initialExecutors": "0",
}
"""The settings of an application that starts without executors; an ``ExecutorSet`` requests some."""
FRESH_SECONDS = 1.0
"""How long a list of executors is considered up to date."""
_DRIVER, _NOWHERE = "driver", ""


@dataclass(frozen=True)
class Executor:
    """An executor that Spark knows; one that ``is_leaving`` accepts no more tasks."""

    id: str
    host: str
    slots: int
    is_leaving: bool = False

    @property
    def place(self) -> str:
        """Return its name as a task's preferred location in Spark (`TaskLocation`)."""
        return f"executor_{self.host}_{self.id}"


def starting_settings(capacity: Capacity) -> Mapping[str, str]:
    """Return the settings of an application that starts with the minimum of executors, on any kind of cluster.

    Only Spark's dynamic allocation can start so. ``ExecutorSet`` stops it afterwards, as it scales by pending tasks.
    """
    return {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.minExecutors": str(capacity.least),
        "spark.dynamicAllocation.maxExecutors": str(capacity.most),
        # A decommissioned executor accepts no more tasks, and ends when it has none.
        "spark.decommission.enabled": "true",
        # A task runs on its preferred executor if that has a free slot, and does not wait for it.
        "spark.locality.wait": "0s",
    }


class ExecutorSet:
    """The executors of a context that started with few or none; from now on it has as many as are requested.

    Methods call Spark, and may raise.

    Spark is asked once per run where a task runs. A submitted task that has not started counts for its preferred
    executor.
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
        """The executor of each job group, known or preferred."""
        self._certain: set[str] = set()
        manager = self._spark.executorAllocationManager()
        if manager.isDefined():
            manager.get().stop()

    def ask_for(self, count: int) -> None:
        """Request ``count`` executors in total; Spark replaces lost ones up to that number."""
        self._wanted = count
        no_hosts = getattr(getattr(self._jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
        self._spark.requestTotalExecutors(count, 0, no_hosts)

    def ask_again(self) -> None:
        """Repeat the last request: a standalone master that recovers only remembers the initial number."""
        if self._wanted is not None:
            self.ask_for(self._wanted)

    def give_back(self, executor: str) -> None:
        """Decommission an executor: it gets no more tasks, ends when it has none, and is not replaced."""
        why = self._jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
            "no longer needed", self._jvm.scala.Option.empty()
        )
        self._spark.schedulerBackend().decommissionExecutor(executor, why, True, False)

    def look(self) -> list[Executor]:
        """Return the present executors."""
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
        """Choose the executor with the fewest tasks and a free slot for a run; record and return its place."""
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
        """Record that a run has ended."""
        with self._lock:
            self._places.pop(group, None)
            self._certain.discard(group)

    def is_running(self, group: str) -> bool:
        """Return whether a run is known to be running."""
        with self._lock:
            return group in self._certain

    def tasks(self) -> dict[str, list[str]]:
        """Return the job groups by executor; looks up those not known to be running yet.

        Spark itself reruns a task whose executor was lost.
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
        """Return the executor of a group's task, or None if it does not run."""
        store = self._spark.statusStore()
        for stage in self._stages(group):
            with contextlib.suppress(Exception):  # Spark may have dropped the stage in the meantime
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
