"""What Spark calls in an executor: it runs the one task it is given until that ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from hearth.runtime.launcher import TaskLaunch
from hearth.spark.environment_archive import unpacked


def nothing(rows: Iterable[Any]) -> Iterator[Any]:
    """Do nothing: the partition of a job that is there to have Python started."""
    return iter(())


def run(launches: Iterable[str]) -> Iterator[str]:
    """Run the tasks of a partition: there is one. Yields why it could not begin, if so, and never a record."""
    from hearth.runtime.task import leave_signals_to_spark, run_task  # the host names this function, and stays light

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    leave_signals_to_spark()
    for launch in launches:
        reason = run_task(TaskLaunch.from_json(launch), unpacked)
        if reason is not None:
            yield reason
