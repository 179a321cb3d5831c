"""Sends executors on other machines what a task needs: its environments, and Hearth if they lack it."""

from __future__ import annotations

import logging
import re
import sys
import threading
from collections.abc import Mapping
from typing import Any

from hearth.runtime.plan import TaskPlan
from hearth.spark.driver import executors_python, is_local
from hearth.spark.environment_archive import ship
from hearth.spark.host_archive import NAME as HOST_KEY
from hearth.spark.host_archive import ship_host

log = logging.getLogger(__name__)

_PACKAGES = re.compile(r"No module named|module specification for")
"""Spark's message when an executor's Python lacks modules that its daemon imports."""
_PYTHON = re.compile(rf"{_PACKAGES.pattern}|PYTHON_VERSION_MISMATCH|Cannot run program")
"""Also Spark's message when an executor's Python is missing or has another version."""


class ExecutorArtifacts:
    """Sends executors what they need, once for each application; does nothing if they run in the driver's JVM."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._sent: set[str] = set()
        self._sending = threading.Lock()
        self._is_code_missing = False
        """Whether executors lack Hearth's packages, so that these have to be sent as well."""

    def begin_anew(self) -> None:
        """Forget what was sent: a new application's executors have nothing yet."""
        self._sent.clear()

    def send(self, context: Any, plan: TaskPlan) -> None:
        """Send what a task needs and was not sent before."""
        if is_local(self._settings):
            return
        with self._sending:
            if self._is_code_missing and HOST_KEY not in self._sent:
                log.info("executors have no Hearth installed: sending it with the packages that it needs")
                ship_host(context)
                self._sent.add(HOST_KEY)
            for key, environment in plan.environments.items():
                if key not in self._sent:
                    ship(context, environment)
                    self._sent.add(key)

    def explained(self, reason: str) -> str:
        """Add the remedy to the reason why a task did not run, if the executors' Python is the cause.

        If they lack packages, these are sent before the next task.
        """
        if not _PYTHON.search(reason):
            return reason
        if _PACKAGES.search(reason) and HOST_KEY not in self._sent and not is_local(self._settings):
            self._is_code_missing = True
            return f"{reason}\nexecutors lack packages that tasks need; sending them before the next task"
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"{reason}\nexecutors run {executors_python(self._settings)}, which must be Python {own} as on this host; "
            "set spark.pyspark.python"
        )
