"""Autoscaling: checks the executors of a Spark application periodically and adjusts their number."""

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
"""Delay before a warning that the cluster provides fewer executors than requested, or that one has not drained."""


class Tasks(Protocol):
    """What the autoscaler needs of tasks, by the name of their job group."""

    def move(self, group: str) -> bool:
        """Drain a task and restart it on another executor; returns whether that will happen."""

    def usage(self, group: str) -> ExecutorUsage:
        """Return the resource usage of a task's executor; raises ConnectError."""


class Autoscaler:
    """Keeps the number of executors within a capacity, until it is closed.

    Each check measures the load, decides, requests executors from Spark and moves tasks: away from an executor that
    leaves, and from the fullest executors to new ones until all are level. The next check does what one could not do.
    """

    def __init__(
        self,
        capacity: Capacity,
        executors: ExecutorSet,
        tasks: Tasks,
        waiting: Callable[[], Collection[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``waiting`` returns the job groups that have been waiting for a slot for some time."""
        self._executors, self._tasks, self._waiting, self._clock = executors, tasks, waiting, clock
        self._scaling = Scaling(capacity)
        self._last: dict[str, ExecutorUsage] = {}
        self._counted: frozenset[str] = frozenset()
        self._level_since: float | None = None
        self._since: dict[str, float] = {}
        """The time at which each present problem started."""
        self._reported: set[str] = set()
        self._closed = threading.Event()

    def run(self) -> None:
        """Check periodically until closed."""
        self._executors.ask_for(self._scaling.wanted)
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self.look()
            except Exception as error:  # Spark may be stopping or restarting
                log.debug("executors were not checked: %s", error)

    def close(self) -> None:
        """Stop checking."""
        self._closed.set()

    def look(self) -> None:
        """Check once, and act."""
        now, present = self._clock(), self._executors.look()
        tasks = self._executors.tasks()
        waiting = [group for group in self._waiting() if not self._executors.is_running(group)]
        staying = [each for each in present if not each.is_leaving]
        loads = [self._load(each, tasks.get(each.id, [])) for each in staying]
        before = self._scaling.wanted
        decision = self._scaling.decide(now, loads, len(waiting))
        if decision.leaving is not None:
            log.info("releasing executor %s (%s): its tasks move to others", decision.leaving, decision.reason)
            self._executors.give_back(decision.leaving)
            self._drain(tasks.get(decision.leaving, []))
        elif decision.wanted != before:
            log.info("requesting %d executors instead of %d: %s", decision.wanted, before, decision.reason)
            self._executors.ask_for(decision.wanted)
        for each in present:
            if each.is_leaving:
                self._drain(tasks.get(each.id, []))
        self._level(now, loads)
        self._complain(now, present, len(staying))

    def _load(self, executor: Executor, groups: Sequence[str]) -> ExecutorLoad:
        return ExecutorLoad(executor.id, executor.slots, tuple(groups), self._share(executor, groups))

    def _share(self, executor: Executor, groups: Sequence[str]) -> float | None:
        """Return the share of its CPU that an executor has used since the last check, measured by one of its tasks."""
        for group in groups:
            try:
                usage = self._tasks.usage(group)
            except (ConnectError, ValueError) as error:  # the task is moving, starting or hanging
                log.debug("%s did not report the CPU of executor %s: %s", group, executor.id, error)
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
        """Move tasks to new executors, once all requested ones have registered or no more seem to register.

        Tasks that cannot move yet are retried for ``INTERRUPT_SECONDS``.
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
            log.info("moving %d tasks to new executors", moved)
        if not moving or seconds > INTERRUPT_SECONDS:
            self._level_since = None

    def _complain(self, now: float, present: Sequence[Executor], staying: int) -> None:
        """Warn once of executors that the cluster does not provide or that do not drain."""
        wrong = {
            f"leaving-{each.id}": f"executor {each.id} has tasks that have not drained yet; it is kept until they have"
            for each in present
            if each.is_leaving
        }
        if staying < self._scaling.wanted:
            wrong["fewer"] = (
                f"the cluster provides {staying} of {self._scaling.wanted} requested executors: check "
                "spark.executor.cores, spark.executor.memory and spark.cores.max, or add workers"
            )
        self._reported &= wrong.keys()
        self._since = {what: self._since.get(what, now) for what in wrong}
        for what, text in wrong.items():
            if now - self._since[what] >= INTERRUPT_SECONDS and what not in self._reported:
                self._reported.add(what)
                log.warning("%s", text)
