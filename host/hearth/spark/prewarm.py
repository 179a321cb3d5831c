"""Prewarm Python in every executor of a cluster, before a task comes to it.

An executor starts its Python daemon for the first task it runs, which takes most of a second. A task whose executor
was lost comes to another one, perhaps to one that never ran any, and its records wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from hearth.spark.driver import reason_of
from hearth.spark.executor import nothing

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


def keep_warm(context: Any, explain: Callable[[str], str] = str) -> None:
    """Prewarm executors as they come, until the context is stopped; ``explain`` is told why one could not be."""
    warm: frozenset[str] = frozenset()
    while True:
        try:
            executors = _executors(context)
            if executors - warm:
                prewarm(context, len(executors))
            warm = executors
        except Exception as error:  # whatever it is, the first task meets it as well and tells the user
            if context._jsc is None or context._jsc.sc().isStopped():
                return
            log.debug("executors were not prewarmed: %s", explain(reason_of(error)))
        time.sleep(LOOK_SECONDS)


def prewarm(context: Any, executors: int) -> None:
    """Run a partition in each executor: Spark offers every one its first before any gets a second."""
    context.setJobGroup("hearth-prewarm", f"Python of {executors} executors", True)
    context.parallelize(range(executors), executors).mapPartitions(nothing).collect()


def _executors(context: Any) -> frozenset[str]:
    """Return the addresses of the executors; the driver, which counts as one to Spark, is among them."""
    text: str = context._jsc.sc().getExecutorMemoryStatus().keySet().mkString(",")
    return frozenset(text.split(","))
