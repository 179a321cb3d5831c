"""The keys for the automatic restart of failed tasks, of a worker or of a single connector."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, Range, Settings, key


class TaskRestartConfig(Settings):
    """Whether, how often and after what delay a FAILED task restarts.

    The keys are not in a connector's ConfigDef, which equals Kafka Connect's. A connector may set them nevertheless,
    and then overrides its worker.
    """

    task_restart_max: int = key(
        "errors.task.restart.max",
        default=0,
        check=Range.at_least(-1),
        importance=Importance.MEDIUM,
        doc="How often in a row a failed task is restarted automatically; 0 never, -1 without limit. The count is "
        "reset when the task is restarted manually, when its configuration changes, and when it has run for as "
        "long as the maximum backoff.",
    )
    task_restart_backoff_ms: int = key(
        "errors.task.restart.backoff.ms",
        type=ConfigType.LONG,
        default=1000,
        check=Range.at_least(0),
        importance=Importance.LOW,
        doc="The backoff in milliseconds before a failed task is restarted; it doubles with every restart.",
    )
    task_restart_backoff_max_ms: int = key(
        "errors.task.restart.backoff.max.ms",
        type=ConfigType.LONG,
        default=60000,
        check=Range.at_least(0),
        importance=Importance.LOW,
        doc="The maximum backoff in milliseconds.",
    )

    def delay(self, restarts: int) -> float | None:
        """Return the delay in seconds after this many restarts in a row; None if the task stays FAILED."""
        if 0 <= self.task_restart_max <= restarts:
            return None
        doubled: float = self.task_restart_backoff_ms * 2 ** min(restarts, 60)
        return min(doubled, self.task_restart_backoff_max_ms) / 1000
