"""The functions that Spark calls in an executor; ``run`` runs a Connect task until it ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from hearth.runtime.launcher import TaskLaunch
from hearth.spark.environment_archive import unpacked


def nothing(rows: Iterable[Any]) -> Iterator[Any]:
    """Do nothing: a partition of a job that only starts Python."""
    return iter(())


def daemon(rows: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Yield the machine and process id of the daemon that this executor's Python is forked from."""
    yield socket.gethostname(), os.getppid()


def run(launches: Iterable[str]) -> Iterator[str]:
    """Run the tasks of a partition, which has one. Yields the reason if the run was lost, never a record."""
    from hearth.runtime.shared_runtime import run_shared  # imported late: the host imports this module
    from hearth.runtime.task import leave_signals_to_spark, run_task
    from hearth.runtime.task_log import begin_task_log

    task_log = begin_task_log()
    leave_signals_to_spark()
    for launch in map(TaskLaunch.from_json, launches):
        loss = run_shared(launch, unpacked, task_log) if launch.shares else run_task(launch, unpacked, task_log)
        if loss is not None:
            yield loss.to_json()
