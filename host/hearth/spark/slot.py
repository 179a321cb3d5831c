"""Warns of tasks that wait for a Spark slot, on which Spark itself waits without a message."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from hearth.config.capacity_key import COUNT, MOST, Capacity
from hearth.spark.driver import is_local

log = logging.getLogger(__name__)

INTERRUPT_SECONDS = 5.0
LOOK_SECONDS = 2.0


class SlotWatch:
    """Tracks submitted jobs, and warns if one does not get a slot within seconds.

    It asks Spark only about jobs without a sign of life for seconds, as that takes ten JVM calls per job.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        say: Callable[[str], None] = log.warning,
        clock: Callable[[], float] = time.monotonic,
        capacity: Capacity | None = None,
    ) -> None:
        """``capacity`` is the number of executors if the worker's keys set it."""
        self._settings, self._capacity = settings, capacity
        self._say = say
        self._clock = clock
        self._submitted: dict[str, float] = {}
        self._reported: frozenset[str] = frozenset()
        self._changed = threading.Condition()

    def submitted(self, group: str) -> None:
        """Record that a job was submitted to Spark."""
        with self._changed:
            self._submitted[group] = self._clock()
            self._changed.notify()

    def placed(self, group: str) -> None:
        """Record that a job has started or ended."""
        with self._changed:
            self._submitted.pop(group, None)

    def late(self) -> list[str]:
        """Return the jobs that have not started for so long that they may be waiting for a slot."""
        with self._changed:
            return [group for group, since in self._submitted.items() if self._clock() - since >= INTERRUPT_SECONDS]

    def watch(self, context: Any) -> None:
        """Check periodically until the context is stopped."""
        while context._jsc is not None:
            with self._changed:
                self._changed.wait_for(lambda: self._submitted)
            time.sleep(LOOK_SECONDS)
            try:
                self.look(context)
            except Exception as error:  # the context may be stopping
                log.debug("slots were not checked: %s", error)

    def look(self, context: Any) -> None:
        """Warn of jobs that have waited long enough, once for the same jobs."""
        due = self.late()
        waiting = frozenset(group for group in due if not _is_running(context, group))
        for group in set(due) - waiting:
            self.placed(group)
        if waiting - self._reported:
            if _has_free_slot(context):
                return  # Spark is slow to place them, and says nothing to change
            self._say(self._complaint(context, sorted(waiting)))
        self._reported = waiting

    def _complaint(self, context: Any, waiting: list[str]) -> str:
        master, names = self._settings["spark.master"], ", ".join(waiting)
        if is_local(self._settings):
            return f"no slot for {names}: all slots of spark.master={master} are used; raise the number in it"
        executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver counts as one
        if executors < 1:
            return (
                f"no slot for {names}: {master} has started no executor; it needs a worker with free cores and "
                "memory, see spark.executor.cores, spark.executor.memory, and spark.cores.max of other applications, "
                f"and its executors must reach this host at spark.driver.host={self._settings['spark.driver.host']}"
            )
        return (
            f"no slot for {names}: the executors of {master} ({executors}) have {context.defaultParallelism} cores, "
            f"one for each task; {self._remedy(executors)}"
        )

    def _remedy(self, executors: int) -> str:
        capacity = self._capacity
        if capacity is None:
            return "raise spark.cores.max, spark.executor.cores, spark.executor.instances, or add workers"
        if executors < capacity.most:
            return (
                f"executors are requested up to {capacity.most}; if none is added raise spark.cores.max or add workers"
            )
        key = COUNT if capacity.least == capacity.most else MOST
        return f"raise {key}={capacity.most} or spark.executor.cores"


def _has_free_slot(context: Any) -> bool:
    """Return whether the executors that are there could run another task."""
    spark = context._jsc.sc()
    running: int = sum(each.numRunningTasks() for each in spark.statusTracker().getExecutorInfos())
    slots: int = spark.maxNumConcurrentTasks(spark.resourceProfileManager().defaultResourceProfile())
    return running < slots


def _is_running(context: Any, group: str) -> bool:
    """Return whether a task of the group's job is running."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None and job.status == "RUNNING"
              for stage in job.stageIds]  # fmt: skip
    return any(stage is not None and stage.numActiveTasks > 0 for stage in stages)
