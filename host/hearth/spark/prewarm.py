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
from hearth.spark.executor import daemon

log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
MOST_TRIES = 5

Daemon = tuple[str, int]
"""Machine and process."""


def keep_warm(context: Any, explain: Callable[[str], str] = str) -> None:
    """Prewarm executors as they come, until the context is stopped; ``explain`` is told why one could not be.

    One that has just been added may not take a task yet, and then others run its share: who answers is counted, and
    asked again a few times. One whose slots are all taken never answers, and is warm.
    """
    warm, known, answered, tries = frozenset[str](), set[Daemon](), set[Daemon](), 0
    while True:
        try:
            executors = _executors(context)
            if fresh := executors - warm:
                answered |= prewarm(context, len(executors)) - known
                tries += 1
            expected = len(fresh) - (not warm)  # the driver is one of the first
            if len(answered) >= expected or tries >= MOST_TRIES:
                warm, known, answered, tries = executors, known | answered, set(), 0
        except Exception as error:  # whatever it is, the first task meets it as well and tells the user
            if context._jsc is None or context._jsc.sc().isStopped():
                return
            log.debug("executors were not prewarmed: %s", explain(reason_of(error)))
        time.sleep(LOOK_SECONDS)


def prewarm(context: Any, executors: int) -> set[Daemon]:
    """Run a partition in each executor; returns what Python was forked from, which is another in each.

    Spark offers every one that is ready its first before any gets a second.
    """
    context.setJobGroup("hearth-prewarm", f"Python of {executors} executors", True)
    return set(context.parallelize(range(executors), executors).mapPartitions(daemon).collect())


def _executors(context: Any) -> frozenset[str]:
    """Return the addresses of the executors; the driver, which counts as one to Spark, is among them."""
    text: str = context._jsc.sc().getExecutorMemoryStatus().keySet().mkString(",")
    return frozenset(text.split(","))
