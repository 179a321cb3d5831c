"""The keys by which tasks that failed restart themselves: a worker's for all of its connectors, or a connector's."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, Range, Settings, key


class TaskRestartConfig(Settings):
    """Whether, how often and after how long a FAILED task restarts itself.

    They are none of a connector's definition, which is Kafka Connect's to the letter; a connector may have them all
    the same, and goes before its worker.
    """

    task_restart_max: int = key(
        "errors.task.restart.max",
        default=0,
        check=Range.at_least(-1),
        importance=Importance.MEDIUM,
        doc="How often in a row a task that failed is restarted by itself; 0 is not at all, -1 without end. It is "
        "counted anew when somebody restarts the task, when its configuration changes, and when it has run for as "
        "long as the longest pause.",
    )
    task_restart_backoff_ms: int = key(
        "errors.task.restart.backoff.ms",
        type=ConfigType.LONG,
        default=1000,
        check=Range.at_least(0),
        importance=Importance.LOW,
        doc="How many milliseconds after its failure a task restarts; twice as many each further time.",
    )
    task_restart_backoff_max_ms: int = key(
        "errors.task.restart.backoff.max.ms",
        type=ConfigType.LONG,
        default=60000,
        check=Range.at_least(0),
        importance=Importance.LOW,
        doc="The longest pause in milliseconds between a failure of a task and its restart.",
    )

    def delay(self, restarts: int) -> float | None:
        """Return after how many seconds a task restarts that did so often in a row; None where it stays FAILED."""
        if 0 <= self.task_restart_max <= restarts:
            return None
        doubled: float = self.task_restart_backoff_ms * 2 ** min(restarts, 60)
        return min(doubled, self.task_restart_backoff_max_ms) / 1000
