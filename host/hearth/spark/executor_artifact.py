"""What executors on other machines are sent before a task: its environments, and Hearth where they lack it."""

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
"""What Spark says of executors whose Python lacks what the daemon of its workers imports."""
_PYTHON = re.compile(rf"{_PACKAGES.pattern}|PYTHON_VERSION_MISMATCH|Cannot run program")
"""What Spark says of executors whose Python is not there, or is not this host's, as well."""


class ExecutorArtifacts:
    """Sends executors what they need, once for each Spark; where they run in the driver's JVM they have it all."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._sent: set[str] = set()
        self._sending = threading.Lock()
        self._is_code_missing = False
        """Whether executors were met that lack what tasks are run by, so that it has to travel as well."""

    def begin_anew(self) -> None:
        """Take note that there is another Spark, whose executors have nothing yet."""
        self._sent.clear()

    def send(self, context: Any, plan: TaskPlan) -> None:
        """Send what a task needs and was not sent."""
        if is_local(self._settings):
            return
        with self._sending:
            if self._is_code_missing and HOST_KEY not in self._sent:
                log.info("executors have no Hearth of their own: it is sent to them, with the packages that it needs")
                ship_host(context)
                self._sent.add(HOST_KEY)
            for key, environment in plan.environments.items():
                if key not in self._sent:
                    ship(context, environment)
                    self._sent.add(key)

    def explained(self, reason: str) -> str:
        """Return why a task did not run with the key that mends it, where it is the Python of the executors.

        Where they lack packages these travel before the next task does.
        """
        if not _PYTHON.search(reason):
            return reason
        if _PACKAGES.search(reason) and HOST_KEY not in self._sent and not is_local(self._settings):
            self._is_code_missing = True
            return f"{reason}\nexecutors lack packages that tasks are run by, which are sent to them"
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"{reason}\nexecutors run {executors_python(self._settings)}, which has to be Python {own}, "
            "as on this host; spark.pyspark.python names another"
        )
