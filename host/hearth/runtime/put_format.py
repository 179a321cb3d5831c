"""What a sink task takes with a put."""

from __future__ import annotations

from dataclasses import dataclass

from hearth.kafka.consumer import MOST_MESSAGES
from hearth_stage.task_call import SinkStarted

JAVA_MAX_POLL_RECORDS = 500


@dataclass(frozen=True)
class PutFormat:
    """What a sink task takes with a put: these columns of a record (``None`` = all), and at most so many records.

    ``takes_next`` says that its stage may be sent further puts while it is at one.
    """

    columns: list[str] | None
    most: int
    takes_next: bool = False

    def wants(self, column: str) -> bool:
        """Return whether it takes a column."""
        return self.columns is None or column in self.columns


def intake_of(started: SinkStarted, most: int | None) -> PutFormat:
    """Return what a started task takes; ``most`` is how many records the user wants it to be given at most."""
    default = MOST_MESSAGES if started.is_batch else JAVA_MAX_POLL_RECORDS
    return PutFormat(started.columns, default if most is None else most, started.takes_next)
