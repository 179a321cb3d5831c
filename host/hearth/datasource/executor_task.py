"""The tasks of a streaming read on executors, seen from the driver.

The Python process that answers Spark on the driver cannot submit jobs, so micro-batches launch tasks: with one
partition for each task to start, and an offset that counts launches, since without a new offset there would be no
micro-batch. Afterwards both sides communicate by files of the spool (``spool_control``).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from hearth.datasource import planning
from hearth.datasource.data_source_error import DataSourceFailed
from hearth.datasource.option import Options
from hearth.datasource.polled_rows import read_options
from hearth.datasource.spool import Places, Spool
from hearth.datasource.spool_control import (
    BEAT_LOOKS,
    ENDED,
    FAILED,
    LEFT,
    LOST_LOOKS,
    RUNS,
    Control,
    SilenceTimer,
    TaskReport,
    control_name,
    message_bytes,
    read_message,
    report_name,
)
from hearth.datasource.task_launch import SpoolingLaunch
from hearth.discovery import PluginType
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.source_stage import Idle
from hearth_api import ConnectError

log = logging.getLogger(__name__)

LAUNCH_SECONDS = 60.0
"""How long Spark may take to launch a task and the task to run: other tasks of the query may use all slots."""
MOST_LOSSES, SHORT_SECONDS = 4, 60.0
"""A task that was lost ``MOST_LOSSES`` times, each time within ``SHORT_SECONDS``, is not restarted."""
_WAITING, _LAUNCHED = "waiting", "launched"


class TaskLost(ConnectError):
    """A task's process has exited repeatedly without reporting a reason."""

    code = "spool.task_lost"
    hint = "see the standard error of the executors; check their memory, and that the query uses its batches"


@dataclass
class _SeenTask:
    """A task and the state of its run: waiting to be launched, launched, or as last reported."""

    plan: PluginPlan
    run: int
    state: str = _WAITING
    launched_at: float | None = None
    pulse: SilenceTimer = field(default_factory=SilenceTimer)
    losses: int = 0


class ExecutorTasks:
    """Runs all tasks of a connector on executors, into a spool they reach; with ``ends`` until the source is empty.

    A thread watches the tasks; ``launches`` and ``committed`` are called on the thread that answers Spark.
    """

    def __init__(self, options: Options, schema: StructType, spool: Spool, *, ends: bool) -> None:
        self._options, self._schema, self._spool, self._ends = options, schema, spool, ends
        plans = planning.planned(read_options(options), PluginType.SOURCE).plans
        run = spool.begin([plan.task for plan in plans], is_read=True)
        self._tasks = [_SeenTask(plan, run) for plan in plans]
        self._control = control_name(run)
        self._gone: Places = {}
        self._beat = 0
        self._sent: tuple[object, ...] = ()
        self._number, self._launches = 0, list[InputPartition]()
        self._error: Exception | None = None
        self._stopping = threading.Event()
        self._lock = threading.RLock()
        self._watcher = threading.Thread(target=self._watch, name="tasks", daemon=True)
        self._watcher.start()

    @property
    def is_launching(self) -> bool:
        """Return whether a micro-batch is needed to launch tasks."""
        return any(task.state == _WAITING for task in self._tasks)

    @property
    def are_done(self) -> bool:
        """Return whether all tasks have ended."""
        return all(task.state == ENDED for task in self._tasks)

    def check(self) -> None:
        """Raise the error that ended a task."""
        if self._error is not None:
            raise self._error

    def launches(self, number: int) -> Sequence[InputPartition]:
        """Return the launches of a micro-batch by its launch count, the same each time the batch is planned."""
        if number == self._number:
            return self._launches
        with self._lock:
            waiting = [task for task in self._tasks if task.state == _WAITING]
            again = [task for task in waiting if task.launched_at is not None]
            if again:
                run = self._spool.begin([task.plan.task for task in again])
                for task in again:
                    task.run = run
            for task in waiting:
                task.state, task.launched_at, task.pulse = _LAUNCHED, time.monotonic(), SilenceTimer()
            self._number, self._launches = number, [self._launch(task) for task in waiting]
            self._send()
        return self._launches

    def committed(self, places: Places) -> None:
        """Record up to where Spark has committed segments; the watching thread reports it to the tasks."""
        self._gone = dict(places)

    def stop(self) -> None:
        """Stop all tasks."""
        self._stopping.set()
        self._watcher.join()
        try:
            self._send(is_over=True)
        except OSError as error:
            log.warning("tasks on executors could not be notified and end after a timeout: %s", error)

    def _launch(self, task: _SeenTask) -> SpoolingLaunch:
        settings, spool = self._options.settings, self._spool
        return SpoolingLaunch(
            task.plan, self._schema, spool.store.address, spool.id, self._control, task.run,
            spool.last(task.plan.task) + 1, spool.positions(), settings.value, settings.max_records_per_trigger,
            Idle.given(settings.idle_ms), self._ends,
        )  # fmt: skip

    def _watch(self) -> None:
        """Check for segments and reports of tasks."""
        looks, pulse, pace = 0, SilenceTimer(), self._spool.store.look_seconds
        while not self._stopping.wait(pace):
            looks += 1
            try:
                with self._lock:
                    self._look(is_beat=looks % BEAT_LOOKS == 0)
                pulse.hear(looks)
            except ConnectError as error:
                self._error = error
            except Exception as error:  # noqa: BLE001  (any error of a file system client may be temporary)
                log.warning("the spool cannot be reached: %s", error)
                if pulse.silent_seconds > LOST_LOOKS * pace:
                    self._error = error
            with self._spool.changed:
                self._spool.changed.notify_all()

    def _look(self, *, is_beat: bool) -> None:
        begun = [task for task in self._tasks if task.launched_at is not None and task.state != ENDED]
        reports = [
            read_message(self._spool.store, report_name(task.plan.task, task.run), TaskReport) for task in begun
        ]
        is_all = self._spool.look()  # after the reports: a task seals its last segment before it reports its end
        for task, report in zip(begun, reports):
            if is_all or report is None or report.state == RUNS:
                self._judge(task, report)
        if is_beat or self._sent != self._facts():
            self._send()

    def _judge(self, task: _SeenTask, report: TaskReport | None) -> None:
        if report is not None and report.beat and task.pulse.hear(report.beat):  # the launch writes one with beat 0
            if report.state == FAILED:
                self._error = DataSourceFailed(report.trace, f"task {task.plan.name} failed: {report.fact}")
            if report.state == LEFT:
                self._lost(task, f"process {report.place} was stopped")
                return
            if task.state != report.state:
                log.info("task %s %s in process %s", task.plan.name, report.state, report.place)
            task.state = report.state
        if task.state in (RUNS, _LAUNCHED):
            limit = LOST_LOOKS * self._spool.store.look_seconds if task.pulse.is_heard else LAUNCH_SECONDS
            if task.pulse.silent_seconds > limit:
                self._lost(task, f"it sent no report for {task.pulse.silent_seconds:.0f} seconds")

    def _lost(self, task: _SeenTask, why: str) -> None:
        """Restart a task after the segments that exist by then."""
        log.warning("restarting task %s after run %d: %s", task.plan.name, task.run, why)
        assert task.launched_at is not None
        is_soon = time.monotonic() - task.launched_at < SHORT_SECONDS + LAUNCH_SECONDS
        task.losses = task.losses + 1 if is_soon else 1
        if task.losses >= MOST_LOSSES:
            self._error = TaskLost(
                f"task {task.plan.name} was started {task.losses} times on executors and lost each time"
            )
        task.state = _WAITING

    def _facts(self) -> tuple[object, ...]:
        return self._spool.is_full, self._gone, [task.run for task in self._tasks]

    def _send(self, *, is_over: bool = False) -> None:
        self._beat += 1
        self._sent = self._facts()
        tasks = {str(task.plan.task): [task.run, self._gone.get(task.plan.task, 0)] for task in self._tasks}
        control = Control(self._beat, is_over, self._spool.is_full, tasks)
        self._spool.store.put(self._control, message_bytes(control))
