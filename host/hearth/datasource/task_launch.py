"""Launches a task of a streaming read on an executor: a Spark task starts the task's process there, and ends.

The Spark task is part of a micro-batch, which has to end, so the process runs outside of Spark's slots.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from hearth.datasource.spool import identity_of
from hearth.datasource.spool_control import RUNS, TaskReport, message_bytes, report_name
from hearth.datasource.spool_location import spool_store
from hearth.spark.environment_archive import here
from hearth.staging.plugin_plan import PluginPlan
from hearth.staging.source_stage import Idle
from hearth_api import ConfigError, ConnectError

PROGRAM = "hearth.datasource.executor_process"
_OF_SPARK = ("PYTHON_WORKER_FACTORY_SECRET", "_SPARK_AUTH_SECRET")
"""Environment variables with secrets of Spark's workers, removed from the process."""


@dataclass
class SpoolingLaunch(InputPartition):  # type: ignore[misc]
    """A task to run on the executor that gets this partition, unless its run was already launched elsewhere.

    ``spool`` is the address of the spool, ``control`` the read's control file in it. The segments of this run are
    numbered from ``next_number``; ``positions`` are the source positions after the earlier ones.
    """

    plan: PluginPlan
    schema: StructType
    spool: str
    spool_id: str
    control: str
    run: int
    next_number: int
    positions: dict[str, str] = field(repr=False)
    form: str
    most_rows: int | None
    idle: Idle
    ends: bool


def launch(task: SpoolingLaunch) -> None:
    """Start the process of a task, and return when it runs; does nothing if its run was already launched.

    Raises ConfigError if the spool cannot be reached from here, and ConnectError if the process does not start.
    """
    store = spool_store(task.spool)
    if identity_of(store) != task.spool_id:
        raise ConfigError(
            "hearth.spool", task.spool, f"the executor on {socket.gethostname()} does not find the spool there",
            hint="with hearth.tasks.on=executors use a directory that they share with the driver, or an address",
        )  # fmt: skip
    try:
        store.create(report_name(task.plan.task, task.run), message_bytes(TaskReport(0, RUNS)))
    except FileExistsError:
        return
    environment = {name: value for name, value in os.environ.items() if name not in _OF_SPARK}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    with _executor() as executor:
        process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(executor)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=environment, pass_fds=() if executor < 0 else (executor,), start_new_session=True,
        )  # fmt: skip
    # reaps the process, or it would remain as a zombie
    threading.Thread(target=process.wait, name="executor-process", daemon=True).start()
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdout, process.stdin:
        pickle.dump(replace(task, plan=here(task.plan)), process.stdin)
        process.stdin.close()
        if not process.stdout.read(1):
            raise ConnectError(
                f"the process of task {task.plan.name} on {socket.gethostname()} exited with {process.wait()} "
                "before it started", hint="see the standard error of the executor",
            )  # fmt: skip


@contextmanager
def _executor() -> Iterator[int]:
    """Provide a descriptor that becomes readable when the executor ends; -1 if the system does not support it."""
    process = _ancestor("java")
    if process is None or not hasattr(os, "pidfd_open"):
        yield -1
        return
    descriptor = os.pidfd_open(process)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _ancestor(command: str) -> int | None:
    """Return the nearest ancestor process that runs a program."""
    process = os.getppid()
    try:
        while process > 1:
            if Path(f"/proc/{process}/comm").read_text().strip() == command:
                return process
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended, or there is no /proc
        pass
    return None
