"""How long the polls of a source took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PollTimes:
    """Polls that returned records since the last hand-over: how many, and with how many records.

    ``seconds`` is the duration of all, ``longest`` that of one; ``largest`` is the number of records of one.
    """

    count: int = 0
    records: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    largest: int = 0

    def add(self, records: int, seconds: float) -> PollTimes:
        """Return these with another poll."""
        return PollTimes(
            self.count + 1,
            self.records + records,
            self.seconds + seconds,
            max(self.longest, seconds),
            max(self.largest, records),
        )


NO_POLLS = PollTimes()
