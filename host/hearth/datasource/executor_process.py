"""The process of one task of a streaming read on an executor: ``python -m hearth.datasource.executor_process FD``.

It reads its launch from standard input. It exits when its read ends or goes silent, when it is replaced, and when the
executor ends, which the descriptor FD shows.
"""

from __future__ import annotations

import logging
import os
import pickle
import select
import signal
import socket
import sys
import threading

from hearth.datasource.data_source_error import DataSourceFailed, fact_of
from hearth.datasource.segment import Segment
from hearth.datasource.spark_batch import SparkBatches
from hearth.datasource.spool import offsets_at
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
    message_bytes,
    read_message,
    report_name,
)
from hearth.datasource.spool_location import spool_store
from hearth.datasource.spooling_task import SpoolAccess, SpoolingTask
from hearth.datasource.task_launch import SpoolingLaunch

log = logging.getLogger(__name__)

STOP_SECONDS = 10.0
"""How long a task may take to end before its process exits anyway."""


class ExecutorTask:
    """Runs a task under the control of its read."""

    def __init__(self, launch: SpoolingLaunch, executor: int) -> None:
        self._launch, self._executor = launch, executor
        self._store = spool_store(launch.spool)
        self._positions = dict(launch.positions)
        self._place = f"{socket.gethostname()}:{os.getpid()}"
        self._beat = 0
        self._is_replaced = self._is_left = False
        self._room, self._over = threading.Event(), threading.Event()
        access = SpoolAccess(
            self._store, launch.run, launch.next_number, lambda asked: offsets_at(self._positions, asked),
            self._sealed, self._room.wait,
        )  # fmt: skip
        self._task = SpoolingTask(
            launch.plan, SparkBatches(launch.schema), access, form=launch.form, most_rows=launch.most_rows,
            idle=launch.idle, ends_when_empty=launch.ends,
        )  # fmt: skip

    def run(self) -> None:
        """Run the task until it ends, and report the outcome."""
        asked, ask = os.pipe()  # a handler that stopped the task itself could deadlock on an interrupted lock
        os.set_blocking(ask, False)
        signal.set_wakeup_fd(ask)
        signal.signal(signal.SIGTERM, lambda *_: None)
        threading.Thread(target=self._await_end, args=[asked], name="end", daemon=True).start()
        watch = threading.Thread(target=self._watch, name="watch", daemon=True)
        watch.start()
        report = TaskReport(0, FAILED)
        try:
            self._task.execute()
            report = TaskReport(0, LEFT if self._is_left else ENDED)
        except Exception as error:
            log.exception("the task %s failed", self._launch.plan.name)
            trace = error.args[0] if isinstance(error, DataSourceFailed) else getattr(error, "trace", None)
            report = TaskReport(0, FAILED, fact=fact_of(error), trace=trace)
        finally:
            self._over.set()
            watch.join()
            if not self._is_replaced:
                self._report(report.state, report.fact, report.trace)

    def _sealed(self, segment: Segment) -> None:
        self._positions.update({key: at for key, at in segment.positions.items() if at is not None})

    def _watch(self) -> None:
        """Read the control file, and report that the task is alive."""
        pulse, looks = SilenceTimer(), 0
        while not self._over.is_set():
            try:
                control = read_message(self._store, self._launch.control, Control)
                if looks % BEAT_LOOKS == 0:
                    self._report(RUNS)
            except Exception as error:  # noqa: BLE001  (any error of a file system client may be temporary)
                log.warning("the spool cannot be reached: %s", error)
                control = None
            if control is not None:
                pulse.hear(control.beat)
                self._obey(control)
            if pulse.silent_seconds > LOST_LOOKS * self._store.look_seconds:
                self._is_replaced = True
                self._leave()
            looks += 1
            self._over.wait(self._store.look_seconds)

    def _obey(self, control: Control) -> None:
        run, number = control.tasks.get(str(self._launch.plan.task), (0, 0))
        if control.is_over or run != self._launch.run:
            self._is_replaced = True
            self._leave()
            return
        if control.is_full:
            self._room.clear()
        else:
            self._room.set()
        self._task.committed(number)

    def _leave(self) -> None:
        """End the task in order, or the process after ``STOP_SECONDS``; may be called repeatedly from any thread."""
        if not self._is_left:
            self._is_left = True
            end = threading.Timer(STOP_SECONDS, os._exit, [1])
            end.daemon = True
            end.start()
            self._room.set()
            self._task.stop()

    def _await_end(self, asked: int) -> None:
        """Leave when the executor ends or on a signal."""
        select.select([asked] if self._executor < 0 else [asked, self._executor], [], [])
        self._leave()

    def _report(self, state: str, fact: str = "", trace: str | None = None) -> None:
        self._beat += 1
        launch = self._launch
        report = TaskReport(self._beat, state, self._place, fact, trace)
        self._store.put(report_name(launch.plan.task, launch.run), message_bytes(report))


def main(executor: int) -> None:
    """Read the launch, acknowledge it, and run the task."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C on a terminal is for the driver
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s (%(name)s)")
    launch = pickle.load(sys.stdin.buffer)  # noqa: S301  (written by the Spark task that started this process)
    task = ExecutorTask(launch, executor)
    os.write(1, b"1")
    os.dup2(2, 1)
    task.run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
