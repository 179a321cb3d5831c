"""The task launcher for Spark."""

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
"""How many tasks are submitted to Spark in parallel: more would only wait for each other."""


class SparkLauncher:
    """Runs each Connect task as a Spark job of one partition in its own job group.

    A few threads submit the jobs; no thread waits for a job.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        capacity: Capacity | None = None,
    ) -> None:
        """With a ``capacity`` it also chooses the executor of each task."""
        self._tasks = _Tasks()
        self.application = SparkApplication(worker, self._tasks, capacity)
        self._launches: queue.SimpleQueue[_Launch | None] = queue.SimpleQueue()
        self._wanted: dict[str, _Launch] = {}
        """Launches that are not submitted yet, by job group."""

    def start(self, term: Term | None = None) -> None:
        """Begin to start Spark, also after a stop; returns at once, and launched tasks wait for it.

        The leading host of a cluster passes its term.
        """
        self._launches = queue.SimpleQueue()
        self.application.start(term)
        for _ in range(LAUNCHERS):
            threading.Thread(target=self._submit_all, args=[self._launches], name="spark-launch", daemon=True).start()

    def attend(self, move: Callable[[str, int], bool], usage: Callable[[str, int], ExecutorUsage]) -> None:
        """Set the functions that move a task, by connector and number, and that return its executor's usage."""
        self._tasks.move_task, self._tasks.usage_by = move, usage

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task as a Spark job; ``on_end`` is called when the job ends."""
        added = self._wanted[_group(plan.connector, plan.task)] = _Launch(launch, plan, on_end)
        self._launches.put(added)

    def has_begun(self, connector: str, task: int) -> None:
        """Record that a task has started."""
        self.application.slots.placed(_group(connector, task))

    def cancel(self, connector: str, task: int) -> None:
        """Cancel the Spark job of a task; Spark kills its Python worker within seconds."""
        self._wanted.pop(_group(connector, task), None)
        driver = self.application.driver
        if driver is not None:
            with contextlib.suppress(Exception):  # a context that is stopping has cancelled it already
                driver.context.cancelJobGroup(_group(connector, task))

    def rehearse(self) -> None:
        """Run an empty task, so that everything a task needs has been loaded once."""
        driver, ended = self.application.driver, threading.Event()
        assert driver is not None, "Spark has to be ready"
        assert driver.jobs is not None, "the driver has started"
        driver.jobs.prepared(driver.context, nothing)([], lambda _rows, _failure: ended.set())
        ended.wait()
        open_page(driver.context)

    def stop(self, grace: float = 5) -> None:
        """Stop Spark, which has ``grace`` seconds to exit; every task's process ends with it."""
        for _ in range(LAUNCHERS):
            self._launches.put(None)
        self.application.stop(grace)

    def _submit_all(self, launches: queue.SimpleQueue[_Launch | None]) -> None:
        """Submit launches that were not cancelled, as soon as Spark accepts tasks."""
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
        """Restart Spark if it has ended, after a call or a job failed."""
        if driver.has_ended(failure):
            self.application.replace(driver)

    def _explained(self, failure: Exception) -> str:
        return self.application.artifacts.explained(reason_of(failure))

    def _submit(self, driver: Driver | None, launch: _Launch, group: str) -> None:
        """Submit a task; the launch is notified of its end. Raises an error if it cannot be submitted."""
        application = self.application
        if driver is None:
            raise ConnectError(application.failure or "Spark is stopped")
        context, plan = driver.context, launch.plan
        application.artifacts.send(context, plan)
        # A cancelled task is not interrupted in the JVM: its thread would spin until Spark kills the Python worker.
        context.setJobGroup(group, f"{plan.name} ({plan.connector_class})", False)

        slots, executors = application.slots, application.executors

        def end(losses: list[Any], failure: Exception | None) -> None:
            slots.placed(group)
            if executors is not None:
                executors.ended(group)
            if failure is None:
                launch.end(next(map(RunLoss.from_json, losses), None))
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
    """A task to run, with the callback for its end."""

    launch: TaskLaunch
    plan: TaskPlan
    on_end: Callable[[TaskEnd], None]

    def end(self, loss: RunLoss | None) -> None:
        """Report that the run has ended; ``loss`` is the reason if the task did not end by itself."""
        self.on_end(TaskEnd(self.launch.connector, self.launch.task, self.launch.generation, loss))


class _Tasks:
    """Moves and measures tasks by job group, once `SparkLauncher.attend` has set the functions."""

    move_task: Callable[[str, int], bool] = staticmethod(lambda connector, task: False)
    usage_by: Callable[[str, int], ExecutorUsage] | None = None

    def move(self, group: str) -> bool:
        """Drain a task and restart it on another executor."""
        connector, _, task = group.rpartition("-")
        return self.move_task(connector, int(task))

    def usage(self, group: str) -> ExecutorUsage:
        """Return the resource usage of a task's executor."""
        if self.usage_by is None:
            raise ConnectError("no task is linked yet", code="task.unlinked")
        connector, _, task = group.rpartition("-")
        return self.usage_by(connector, int(task))


def _group(connector: str, task: int) -> str:
    return f"{connector}-{task}"
