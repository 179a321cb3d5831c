"""Parts of a table that tasks read side by side in bulk mode: ranges of a column of the primary key.

The ranges stand in the configurations of the tasks, so a task that starts again reads the same range. Together they
hold every key, also those that rows get later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

PART = "table.part"
"""A task's key: the part of its table, as JSON."""


@dataclass(frozen=True)
class TablePart:
    """The rows whose key is at least `start` and below `end`; both are SQL literals, None for no bound."""

    read: str
    """What the parts of one table have in common, of digits and letters."""
    place: int
    """The number of the part, from 0 to `count` - 1."""
    count: int
    column: str
    start: str | None
    end: str | None

    @classmethod
    def of(cls, props: Mapping[str, str]) -> TablePart | None:
        """Return the part of a task's configuration, None if the task reads whole tables."""
        text = props.get(PART)
        return cls(**json.loads(text)) if text else None

    def to_json(self) -> str:
        """Return the part for a task's configuration."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def condition(self, name: str) -> str:
        """Return the criterion of the part's rows, with the column's name as SQL has it."""
        bounds = [f"{name} {sign} {each}" for sign, each in ((">=", self.start), ("<", self.end)) if each is not None]
        return " AND ".join(bounds)
