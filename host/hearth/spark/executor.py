"""What Spark calls in an executor: it runs the one task it is given until that ends."""

from __future__ import annotations

import dataclasses
import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from hearth.runtime.spec import TaskSpec
from hearth.spark.environment_archive import unpacked


def nothing(rows: Iterable[Any]) -> Iterator[Any]:
    """Do nothing: the partition of a job that is there to have Python started."""
    return iter(())


def run(specs: Iterable[str]) -> Iterator[str]:
    """Run the tasks of a partition: there is one. Yields why it could not begin, if so, and never a record."""
    from hearth.runtime.task import leave_signals_to_spark, run_task  # the host names this function, and stays light

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)"
    )
    leave_signals_to_spark()
    for text in specs:
        spec = TaskSpec.from_json(text)
        environments = {key: unpacked(environment) for key, environment in spec.environments.items()}
        reason = run_task(dataclasses.replace(spec, environments=environments))
        if reason is not None:
            yield reason
