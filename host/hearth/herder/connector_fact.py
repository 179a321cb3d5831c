"""What the rules of an explanation look at: facts from a connector's report, and the form of a finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

STALLED_SECONDS = 60.0
"""Without success for so long although there is something to do, a phase counts as stalled."""

Report = Mapping[str, Any]
Task = Mapping[str, Any]


@dataclass(frozen=True)
class LikelyCause:
    """A condition, its evidence in figures, the likely cause, the remedy, and the task that it is about, if one."""

    condition: str
    evidence: str
    cause: str
    remedy: str
    task: int | None = None


class ReportFacts:
    """What the rules look at: the report of a connector, its configuration and the time in seconds since the epoch."""

    def __init__(self, report: Report, config: Mapping[str, str | None], now: float) -> None:
        self.report, self.config, self._now = report, config, now
        self.is_sink = report["type"] == "sink"
        self.tasks: Sequence[Task] = report["tasks"]

    def age(self, moment: str | None) -> float | None:
        """Return how many seconds ago a time of the report was."""
        return (
            None
            if moment is None
            else max(0.0, self._now - datetime.fromisoformat(moment[:-1] + "+00:00").timestamp())
        )

    def ago(self, moment: str | None) -> str:
        """Return how long ago a time of the report was, in words."""
        age = self.age(moment)
        return "never" if age is None else f"{duration(age)} ago"

    def is_stalled(self, task: Task, phase: str) -> bool:
        """Return whether a phase has not succeeded for long, or since the task runs."""
        age = self.age(task["last"][phase])
        return (self.age(task["since"]) or 0.0 if age is None else age) >= STALLED_SECONDS

    def get(self, key: str, default: str = "") -> str:
        """Return a value of the configuration."""
        return (self.config.get(key) or default).strip()

    @property
    def group(self) -> str:
        """Return the consumer group of a sink."""
        return self.get("consumer.override.group.id") or f"connect-{self.report['name']}"

    def running(self) -> Iterator[Task]:
        """Yield the tasks that run and have reported."""
        return (each for each in self.tasks if each["state"] == "RUNNING" and "counts" in each)


def duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits: `45 s`, `3 min`, `5 h`, `2 d`."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def first_line(text: str | None) -> str:
    """Return the first line of a trace."""
    lines = (text or "").splitlines()
    return lines[0] if lines else "without a word"
