"""Autoscaling: looks at the executors of a Spark from time to time, and makes them as many as are to be."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from hearth.config.capacity_key import Capacity
from hearth.link.link_call import ExecutorUsage
from hearth.spark.executor_set import Executor, ExecutorSet
from hearth.spark.scaling import SETTLING_SECONDS, ExecutorLoad, Scaling, moves
from hearth_api import ConnectError

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
INTERRUPT_SECONDS = 60.0
"""After how long it is told that a cluster gives less than was asked for, or that an executor has not drained."""


class Tasks(Protocol):
    """What this asks of tasks, by the name of their job group."""

    def move(self, group: str) -> bool:
        """Let a task drain and begin elsewhere; returns whether it will."""

    def usage(self, group: str) -> ExecutorUsage:
        """Return what the executor of a task takes; raises ConnectError."""


class Autoscaler:
    """Keeps a Spark's executors as many as a capacity says, until it is closed.

    A look measures, decides, asks Spark, and tells tasks to move: those of an executor that leaves, and where some
    have come those of the fullest, so that all have as many. What a look could not do the next one does.
    """

    def __init__(
        self,
        capacity: Capacity,
        executors: ExecutorSet,
        tasks: Tasks,
        waiting: Callable[[], Collection[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``waiting`` returns the job groups that have waited for a slot for a while."""
        self._executors, self._tasks, self._waiting, self._clock = executors, tasks, waiting, clock
        self._scaling = Scaling(capacity)
        self._last: dict[str, ExecutorUsage] = {}
        self._counted: frozenset[str] = frozenset()
        self._level_since: float | None = None
        self._since: dict[str, float] = {}
        """Since when something has been as it should not stay."""
        self._told: set[str] = set()
        self._closed = threading.Event()

    def run(self) -> None:
        """Look until closed."""
        self._executors.ask_for(self._scaling.wanted)
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception as error:  # Spark may be going away, or another one come
                log.debug("executors were not looked at: %s", error)

    def close(self) -> None:
        """Look no more."""
        self._closed.set()

    def look(self) -> None:
        """Look once, and act."""
        now, present = self._clock(), self._executors.look()
        tasks = self._executors.tasks()
        waiting = [group for group in self._waiting() if not self._executors.is_running(group)]
        staying = [each for each in present if not each.is_leaving]
        loads = [self._load(each, tasks.get(each.id, [])) for each in staying]
        before = self._scaling.wanted
        decision = self._scaling.decide(now, loads, len(waiting))
        if decision.leaving is not None:
            log.info("executor %s is given back, %s: its tasks go on elsewhere", decision.leaving, decision.reason)
            self._executors.give_back(decision.leaving)
            self._drain(tasks.get(decision.leaving, []))
        elif decision.wanted != before:
            log.info("%d executors are wanted instead of %d: %s", decision.wanted, before, decision.reason)
            self._executors.ask_for(decision.wanted)
        for each in present:
            if each.is_leaving:
                self._drain(tasks.get(each.id, []))
        self._level(now, loads)
        self._complain(now, present, len(staying))

    def _load(self, executor: Executor, groups: Sequence[str]) -> ExecutorLoad:
        return ExecutorLoad(executor.id, executor.slots, tuple(groups), self._share(executor, groups))

    def _share(self, executor: Executor, groups: Sequence[str]) -> float | None:
        """Return the share of its CPU that an executor has used since the last look; one of its tasks measures it."""
        for group in groups:
            try:
                usage = self._tasks.usage(group)
            except (ConnectError, ValueError) as error:  # which is moving, starting or hanging
                log.debug("the CPU of executor %s is not known by %s: %s", executor.id, group, error)
                continue
            before = self._last.get(executor.id)
            self._last[executor.id] = usage
            if before is None or before.cpu is None or usage.cpu is None or usage.at <= before.at:
                return None
            usable = max(1.0, min(float(executor.slots), usage.processors))
            return max(0.0, usage.cpu - before.cpu) / (usage.at - before.at) / usable
        return None

    def _drain(self, groups: Sequence[str]) -> None:
        for group in groups:
            self._tasks.move(group)

    def _level(self, now: float, loads: Sequence[ExecutorLoad]) -> None:
        """Share tasks out when executors have come: once all are there that were asked for, or no more seem to come.

        What cannot move yet is tried again, for a while.
        """
        ids = frozenset(each.id for each in loads)
        if ids - self._counted:
            self._level_since = now
        self._counted = ids
        if self._level_since is None:
            return
        seconds = now - self._level_since
        if len(ids) < self._scaling.wanted and seconds < SETTLING_SECONDS:
            return
        moving = moves(loads)
        if moved := sum(self._tasks.move(group) for group in moving):
            log.info("%d tasks move to executors that have come", moved)
        if not moving or seconds > INTERRUPT_SECONDS:
            self._level_since = None

    def _complain(self, now: float, present: Sequence[Executor], staying: int) -> None:
        """Say, once, what a cluster does not give, and what does not drain."""
        wrong = {
            f"leaving-{each.id}": f"executor {each.id} has tasks that have not drained yet; it stays until they have"
            for each in present
            if each.is_leaving
        }
        if staying < self._scaling.wanted:
            wrong["fewer"] = (
                f"{self._scaling.wanted} executors are wanted and {staying} there: the cluster gives no more, see "
                "spark.executor.cores, spark.executor.memory and spark.cores.max, or add workers"
            )
        self._told &= wrong.keys()
        self._since = {what: self._since.get(what, now) for what in wrong}
        for what, text in wrong.items():
            if now - self._since[what] >= INTERRUPT_SECONDS and what not in self._told:
                self._told.add(what)
                log.warning("%s", text)
