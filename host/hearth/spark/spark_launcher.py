"""The launcher that puts tasks on Spark."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hearth.config.capacity_key import Capacity
from hearth.link.link_call import ExecutorUsage
from hearth.runtime.launcher import RunLoss, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.spark.driver import Driver, reason_of
from hearth.spark.executor import nothing
from hearth.spark.page import open_page
from hearth.spark.spark_application import SparkApplication
from hearth.spark.standalone_application import Term
from hearth_api import ConnectError

LAUNCHERS = 2
"""How many tasks are handed to Spark at the same time: more would only wait for each other."""


class SparkLauncher:
    """Runs each Connect task as a Spark job of one partition, in a job group of its own.

    A few threads submit the jobs, and nobody waits for one.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        capacity: Capacity | None = None,
    ) -> None:
        """With a ``capacity`` it says on which executor a task runs."""
        self._tasks = _Tasks()
        self.application = SparkApplication(worker, self._tasks, capacity)
        self._launches: queue.SimpleQueue[_Launch | None] = queue.SimpleQueue()
        self._wanted: dict[str, _Launch] = {}
        """What is launched and not submitted yet, by its job group."""

    def start(self, term: Term | None = None) -> None:
        """Begin to start Spark, also anew after a stop; returns at once, tasks launched meanwhile wait for it.

        A host that leads others says in which term.
        """
        self._launches = queue.SimpleQueue()
        self.application.start(term)
        for _ in range(LAUNCHERS):
            threading.Thread(target=self._submit_all, args=[self._launches], name="spark-launch", daemon=True).start()

    def attend(self, move: Callable[[str, int], bool], usage: Callable[[str, int], ExecutorUsage]) -> None:
        """Know from now on how a task, by connector and number, is moved, and what its executor takes."""
        self._tasks.move_task, self._tasks.usage_by = move, usage

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task as a Spark job; ``on_end`` hears when the job is over."""
        added = self._wanted[_group(plan.connector, plan.task)] = _Launch(launch, plan, on_end)
        self._launches.put(added)

    def has_begun(self, connector: str, task: int) -> None:
        """Take note that a task waits for no slot any more."""
        self.application.slots.placed(_group(connector, task))

    def cancel(self, connector: str, task: int) -> None:
        """Cancel the Spark job of a task, whose Python worker Spark then kills within seconds."""
        self._wanted.pop(_group(connector, task), None)
        driver = self.application.driver
        if driver is not None:
            with contextlib.suppress(Exception):  # a context that is going away has cancelled it already
                driver.context.cancelJobGroup(_group(connector, task))

    def rehearse(self) -> None:
        """Run an empty task as any task is run, so that all a task needs has been loaded once."""
        driver, ended = self.application.driver, threading.Event()
        assert driver is not None, "Spark has to be ready"
        assert driver.jobs is not None, "it is made with a Spark"
        driver.jobs.prepared(driver.context, nothing)([], lambda _told, _failure: ended.set())
        ended.wait()
        open_page(driver.context)

    def stop(self, grace: float = 5) -> None:
        """Stop Spark, which has ``grace`` seconds to end; every task's process ends with it."""
        for _ in range(LAUNCHERS):
            self._launches.put(None)
        self.application.stop(grace)

    def _submit_all(self, launches: queue.SimpleQueue[_Launch | None]) -> None:
        """Submit what is launched and still wanted, as soon as Spark takes tasks."""
        while (launch := launches.get()) is not None:
            self.application.wait_until_ready()
            group = _group(launch.plan.connector, launch.plan.task)
            if self._wanted.get(group) is not launch:
                launch.end(None)
                continue
            self._wanted.pop(group, None)
            driver = self.application.driver
            try:
                self._submit(driver, launch, group)
            except Exception as failure:
                if driver is not None:
                    self._after(driver, failure)
                launch.end(RunLoss(self._explained(failure)))

    def _after(self, driver: Driver, failure: Exception) -> None:
        """Have Spark started anew where it has ended, as something that failed makes one think."""
        if driver.has_ended(failure):
            self.application.replace(driver)

    def _explained(self, failure: Exception) -> str:
        return self.application.artifacts.explained(reason_of(failure))

    def _submit(self, driver: Driver | None, launch: _Launch, group: str) -> None:
        """Begin to run a task; whoever launched it hears why it could not begin, if so, or of its end."""
        application = self.application
        if driver is None:
            raise ConnectError(application.failure or "Spark is stopped")
        context, plan = driver.context, launch.plan
        application.artifacts.send(context, plan)
        # A cancelled task is not interrupted in the JVM: its thread would spin until Spark kills the Python worker.
        context.setJobGroup(group, f"{plan.name} ({plan.connector_class})", False)

        slots, executors = application.slots, application.executors

        def end(told: list[Any], failure: Exception | None) -> None:
            slots.placed(group)
            if executors is not None:
                executors.ended(group)
            if failure is None:
                launch.end(next(map(RunLoss.from_json, told), None))
                return
            self._after(driver, failure)
            launch.end(RunLoss(self._explained(failure)))

        slots.submitted(group)
        try:
            driver.run_task([launch.launch.to_json()], end, None if executors is None else executors.prefer(group))
        except Exception:
            slots.placed(group)
            if executors is not None:
                executors.ended(group)
            raise


@dataclass(frozen=True)
class _Launch:
    """A task that is to be run, and who hears of its end."""

    launch: TaskLaunch
    plan: TaskPlan
    on_end: Callable[[TaskEnd], None]

    def end(self, loss: RunLoss | None) -> None:
        """Tell that the run is over, and why where that was not the task's own end."""
        self.on_end(TaskEnd(self.launch.connector, self.launch.task, self.launch.generation, loss))


class _Tasks:
    """The tasks by their job groups, once somebody has said how they are moved and asked."""

    move_task: Callable[[str, int], bool] = staticmethod(lambda connector, task: False)
    usage_by: Callable[[str, int], ExecutorUsage] | None = None

    def move(self, group: str) -> bool:
        """Let a task drain and begin elsewhere."""
        connector, _, task = group.rpartition("-")
        return self.move_task(connector, int(task))

    def usage(self, group: str) -> ExecutorUsage:
        """Ask a task what its executor takes."""
        if self.usage_by is None:
            raise ConnectError("nobody can be asked yet", code="task.unlinked")
        connector, _, task = group.rpartition("-")
        return self.usage_by(connector, int(task))


def _group(connector: str, task: int) -> str:
    return f"{connector}-{task}"
