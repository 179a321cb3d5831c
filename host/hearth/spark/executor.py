"""What Spark calls in an executor: it runs the one task it is given until that ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from typing import Any

from hearth.runtime.launcher import TaskLaunch
from hearth.spark.environment_archive import unpacked


def nothing(rows: Iterable[Any]) -> Iterator[Any]:
    """Do nothing: the partition of a job that is there to have Python started."""
    return iter(())


def daemon(rows: Iterable[Any]) -> Iterator[tuple[str, int]]:
    """Yield machine and process that Python of this executor is forked from, which no other executor has."""
    yield socket.gethostname(), os.getppid()


def run(launches: Iterable[str]) -> Iterator[str]:
    """Run the tasks of a partition: there is one. Yields why it is to begin anew, if so, and never a record."""
    from hearth.runtime.shared_runtime import run_shared  # the host names this function, and stays light
    from hearth.runtime.task import leave_signals_to_spark, run_task
    from hearth.runtime.task_log import begin_task_log

    task_log = begin_task_log()
    leave_signals_to_spark()
    for launch in map(TaskLaunch.from_json, launches):
        loss = run_shared(launch, unpacked, task_log) if launch.shares else run_task(launch, unpacked, task_log)
        if loss is not None:
            yield loss.to_json()
