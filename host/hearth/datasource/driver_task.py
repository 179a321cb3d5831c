"""The tasks of a streaming read on the driver: each is a thread of the Python process that answers Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from hearth.datasource import planning
from hearth.datasource.option import Options
from hearth.datasource.polled_rows import read_options
from hearth.datasource.spark_batch import SparkBatches
from hearth.datasource.spool import Places, Spool, offsets_at
from hearth.datasource.spooling_task import SpoolAccess, SpoolingTask
from hearth.discovery import PluginType
from hearth.staging.source_stage import Idle

STOP_SECONDS = 10.0


class DriverTasks:
    """Runs all tasks of a connector, with their own stages, into a spool; with ``ends`` until the source is empty."""

    is_launching = False
    """Always False: the tasks start with this object, without a Spark task."""

    def __init__(self, options: Options, schema: StructType, spool: Spool, *, ends: bool) -> None:
        self._spool = spool
        self._error: BaseException | None = None
        settings = options.settings
        plans = planning.planned(read_options(options), PluginType.SOURCE).plans
        run = spool.begin([plan.task for plan in plans], is_read=True)
        self._tasks = {
            plan.task: SpoolingTask(
                plan, SparkBatches(schema),
                SpoolAccess(
                    spool.store, run, spool.last(plan.task) + 1,
                    lambda asked: offsets_at(spool.positions(), asked), spool.add, self._await_room,
                ),
                form=settings.value, most_rows=settings.max_records_per_trigger, idle=Idle.given(settings.idle_ms),
                ends_when_empty=ends,
            )
            for plan in plans
        }  # fmt: skip
        self._threads = [
            threading.Thread(target=self._run, args=[task], name=f"task-{number}", daemon=True)
            for number, task in self._tasks.items()
        ]
        for thread in self._threads:
            thread.start()

    @property
    def are_done(self) -> bool:
        """Return whether all tasks have ended."""
        return not any(thread.is_alive() for thread in self._threads)

    def check(self) -> None:
        """Raise the error that ended a task."""
        if self._error is not None:
            raise self._error

    def launches(self, number: int) -> Sequence[InputPartition]:
        """Return nothing: Spark launches no tasks."""
        return ()

    def committed(self, places: Places) -> None:
        """Report to the tasks up to where Spark has committed their segments."""
        for task, number in places.items():
            if task in self._tasks:
                self._tasks[task].committed(number)

    def stop(self) -> None:
        """Stop all tasks, and wait for at most ``STOP_SECONDS``."""
        for task in self._tasks.values():
            task.stop()
        until = time.monotonic() + STOP_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _run(self, task: SpoolingTask) -> None:
        try:
            task.execute()
        except BaseException as error:  # noqa: BLE001  (check raises it, and the query fails)
            self._error = error
        finally:
            with self._spool.changed:
                self._spool.changed.notify_all()

    def _await_room(self, seconds: float) -> bool:
        with self._spool.changed:
            return self._spool.changed.wait_for(lambda: not self._spool.is_full, seconds)
