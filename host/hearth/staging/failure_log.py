"""What the log is told of records that failed."""

from __future__ import annotations

import logging
from typing import Any

from hearth.staging.plugin_plan import TaskSettings
from hearth_execution.failure import Failure

log = logging.getLogger(__name__)


class FailureLog:
    """Hears of records that failed in a task; these may be called from any thread."""

    def __init__(self, task: str, settings: TaskSettings) -> None:
        self._task, self._settings = task, settings

    def failed(self, failure: Failure, record: Any) -> None:
        """A step could not process a record; logged as Kafka Connect words it, where ``errors.log.enable`` is set."""
        if not self._settings.logs_failures:
            return
        text = (
            f"Error encountered in task {self._task}. Executing stage '{failure.phase}' "
            f"with class '{failure.class_name}'"
        )
        if self._settings.logs_records and record is not None:
            text += f", where {record.text()}"
        log.error("%s.\n%s", text, failure.error.trace)

    def failed_unseen(self, count: int) -> None:
        """So many records failed, of which nobody wants to hear more."""

    def dead_lettered(self) -> None:
        """A record that failed is where dead letters are kept."""
