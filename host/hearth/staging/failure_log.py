"""Logs failed records."""

from __future__ import annotations

import logging
from typing import Any

from hearth.staging.plugin_plan import TaskSettings
from hearth_execution.failure import Failure

log = logging.getLogger(__name__)


class FailureLog:
    """Is notified of the failed records of a task; its methods may be called from any thread."""

    def __init__(self, task: str, settings: TaskSettings) -> None:
        self._task, self._settings = task, settings

    def failed(self, failure: Failure, record: Any) -> None:
        """Log a record that a step could not process, in Kafka Connect's words, if ``errors.log.enable`` is set."""
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
        """Count failed records that are not reported one by one."""

    def dead_letter_sent(self) -> None:
        """Count a failed record that is sent to the dead letter queue."""

    def dead_lettered(self) -> None:
        """Count a failed record that has been written to the dead letter queue."""

    def dead_letter_refused(self) -> None:
        """Count a failed record that the dead letter queue refused."""
