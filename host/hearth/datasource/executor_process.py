"""The process of one task of a streaming read on an executor: ``python -m hearth.datasource.executor_process FD``.

It is given its launch on its input. It ends by itself when its read ends or is not heard of, when it was replaced, and
when the executor ends, which can be read from the descriptor FD.
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
    heard,
    said_name,
    written,
)
from hearth.datasource.spool_location import spool_store
from hearth.datasource.spooling_task import SpoolAccess, SpoolingTask
from hearth.datasource.task_launch import SpoolingLaunch

log = logging.getLogger(__name__)

STOP_SECONDS = 10.0
"""How long a task may take to end, before its process ends without it."""


class ExecutorTask:
    """Runs a task, and does as its read says."""

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
        """Run it to its end, and say how that was."""
        asked, ask = os.pipe()  # a handler that ended the task itself might wait for a lock that it has interrupted
        os.set_blocking(ask, False)
        signal.set_wakeup_fd(ask)
        signal.signal(signal.SIGTERM, lambda *_: None)
        threading.Thread(target=self._await_end, args=[asked], name="end", daemon=True).start()
        watch = threading.Thread(target=self._watch, name="watch", daemon=True)
        watch.start()
        said = TaskReport(0, FAILED)
        try:
            self._task.execute()
            said = TaskReport(0, LEFT if self._is_left else ENDED)
        except Exception as error:
            log.exception("the task %s failed", self._launch.plan.name)
            trace = error.args[0] if isinstance(error, DataSourceFailed) else getattr(error, "trace", None)
            said = TaskReport(0, FAILED, fact=fact_of(error), trace=trace)
        finally:
            self._over.set()
            watch.join()
            if not self._is_replaced:
                self._say(said.state, said.fact, said.trace)

    def _sealed(self, segment: Segment) -> None:
        self._positions.update({key: at for key, at in segment.positions.items() if at is not None})

    def _watch(self) -> None:
        """Hear what the read says, and let it hear that the task is alive."""
        pulse, looks = SilenceTimer(), 0
        while not self._over.is_set():
            try:
                control = heard(self._store, self._launch.control, Control)
                if looks % BEAT_LOOKS == 0:
                    self._say(RUNS)
            except Exception as error:  # noqa: BLE001  (whatever the client of an address raises, it may pass)
                log.warning("the spool is out of reach: %s", error)
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
        """End, in order if that comes to an end; may be called from any thread, and again."""
        if not self._is_left:
            self._is_left = True
            end = threading.Timer(STOP_SECONDS, os._exit, [1])
            end.daemon = True
            end.start()
            self._room.set()
            self._task.stop()

    def _await_end(self, asked: int) -> None:
        """Leave when the executor ends, or when a signal asks for it."""
        select.select([asked] if self._executor < 0 else [asked, self._executor], [], [])
        self._leave()

    def _say(self, state: str, fact: str = "", trace: str | None = None) -> None:
        self._beat += 1
        launch = self._launch
        said = TaskReport(self._beat, state, self._place, fact, trace)
        self._store.put(said_name(launch.plan.task, launch.run), written(said))


def main(executor: int) -> None:
    """Take the launch, say that it is taken, and run it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one for all processes of a terminal is for the driver
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(message)s (%(name)s)")
    launch = pickle.load(sys.stdin.buffer)  # noqa: S301  (of the task of Spark that started this)
    task = ExecutorTask(launch, executor)
    os.write(1, b"1")
    os.dup2(2, 1)
    task.run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
