"""What a sink task receives with a put."""

from __future__ import annotations

from dataclasses import dataclass

from hearth.kafka.consumer import MOST_MESSAGES
from hearth_stage.task_call import SinkStarted

JAVA_MAX_POLL_RECORDS = 500


@dataclass(frozen=True)
class PutFormat:
    """What a sink task receives with a put: columns of a record (``None`` = all), and the most records.

    ``takes_next``: its stage accepts further puts during a put.
    """

    columns: list[str] | None
    most: int
    takes_next: bool = False

    def wants(self, column: str) -> bool:
        """Return whether the task reads a column."""
        return self.columns is None or column in self.columns


def put_format_of(started: SinkStarted, most: int | None) -> PutFormat:
    """Return the put format of a started task; ``most`` is ``max.poll.records`` if the user set it."""
    default = MOST_MESSAGES if started.is_batch else JAVA_MAX_POLL_RECORDS
    return PutFormat(started.columns, default if most is None else most, started.takes_next)
