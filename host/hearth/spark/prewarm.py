"""Starts Python in every executor of a cluster before a task needs it.

An executor starts its Python daemon for its first task, which takes most of a second. A task whose executor was lost
may move to an executor that has never run one, and its records would wait.
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
    """Prewarm new executors until the context is stopped; ``explain`` adds a remedy to the reason of a failure.

    A new executor may not accept a task yet, and others run its share. So the daemons that answer are counted, and
    the job is repeated a few times. An executor without a free slot never answers, but is warm.
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
        except Exception as error:  # the first task fails in the same way and reports it
            if context._jsc is None or context._jsc.sc().isStopped():
                return
            log.debug("executors were not prewarmed: %s", explain(reason_of(error)))
        time.sleep(LOOK_SECONDS)


def prewarm(context: Any, executors: int) -> set[Daemon]:
    """Run a partition in each executor; returns the daemons that Python was forked from, one per executor.

    Spark gives each ready executor a first partition before any gets a second.
    """
    context.setJobGroup("hearth-prewarm", f"Python of {executors} executors", True)
    return set(context.parallelize(range(executors), executors).mapPartitions(daemon).collect())


def _executors(context: Any) -> frozenset[str]:
    """Return the addresses of the executors, including the driver, which Spark counts as one."""
    text: str = context._jsc.sc().getExecutorMemoryStatus().keySet().mkString(",")
    return frozenset(text.split(","))
