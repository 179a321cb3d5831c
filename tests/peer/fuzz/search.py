"""Searches for differences between Hearth and Java: every record of a pipeline, on one of Hearth's record paths."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.peer.fuzz import dirty, ours, theirs
from tests.peer.fuzz.agreement import digest, is_beyond_python, is_open, java_form, our_forms
from tests.peer.fuzz.draw import RECORDS, pipeline

Drawn = Mapping[str, Any]
AT_ONCE = 400
"""How many pipelines each Java process gets."""


@dataclass(frozen=True)
class Difference:
    """A record with different results on both sides, or that only one side reached."""

    name: str
    row: int
    drawn: Drawn
    ours: Any
    theirs: Any

    @property
    def kind(self) -> str:
        """Return the part of a difference that identifies its likely cause."""
        mine, his = (next(iter(each), "") if isinstance(each, dict) else "" for each in (self.ours, self.theirs))
        words = (str(each.get("failed"))[:120] for each in (self.ours, self.theirs) if isinstance(each, dict))
        return " | ".join((f"{mine} for {his}", *words))

    def __str__(self) -> str:
        """Return a full description for diagnosis."""
        rows = {
            "config": {
                key: text for key, text in self.drawn["config"].items() if key not in ("name", "connector.class")
            },
            "record": self.drawn["records"][self.row],
            "Hearth": self.ours,
            "Java": self.theirs,
        }
        lines = (f"  {name}: {json.dumps(each, ensure_ascii=False)}" for name, each in rows.items())
        return "\n".join((f"pipeline {self.name}, record {self.row}", *lines))


def compared(
    name: str, drawn: Drawn, expected: Sequence[Any], is_same: Callable[[Any, Any], bool], *, by_batches: bool
) -> Iterator[Difference]:
    """Yield the records of a pipeline for which Hearth's result is not the expected one."""
    found = ours.answers(drawn, by_batches=by_batches)
    for row in range(max(len(found), len(expected))):
        mine, his = (each[row] if row < len(each) else None for each in (found, expected))
        if mine is not None and is_beyond_python(mine):
            if row + 1 == len(found):  # with errors.tolerance=none, that failure ended the task
                return
        elif mine is not None and his is not None and is_open(his, drawn["config"]):
            if row + 1 == len(expected):  # Java's task also ended if it refused a record that Hearth accepts
                return
        elif mine is None or his is None or not is_same(mine, his):
            yield Difference(name, row, drawn, mine, "is another one" if isinstance(his, bytes) else his)


def has_digest(drawn: Drawn) -> Callable[[Any, bytes], bool]:
    """Return a function that compares an answer of Hearth with the digest of Java's."""

    def is_same(mine: Any, kept: bytes) -> bool:
        return kept in map(digest, our_forms(mine, drawn["config"]))

    return is_same


def is_answer(drawn: Drawn) -> Callable[[Any, Any], bool]:
    """Return a function that compares an answer of Hearth with Java's."""

    def is_same(mine: Any, his: Any) -> bool:
        wanted = java_form(his, drawn["config"])
        return any(each == wanted for each in our_forms(mine, drawn["config"]))

    return is_same


def differences(seed: int, records: int, *, is_dirty: bool = False) -> Iterator[Difference]:
    """Send ``records`` records to Java and yield Hearth's differences.

    Every second pipeline runs in batches, the others record by record; dirty ones run in both ways.
    """
    made, size, flag = (dirty.pipeline, dirty.RECORDS, "--dirty ") if is_dirty else (pipeline, RECORDS, "")
    numbers = range(-(-records // size))
    for start in numbers[::AT_ONCE]:
        part = numbers[start : start + AT_ONCE]
        drawn = [made(seed, number) for number in part]
        for number, each, expected in zip(part, drawn, theirs.answers(drawn)):
            for by_batches in (True, False) if is_dirty else (number % 2 == 0,):
                yield from compared(f"{flag}{number}", each, expected, is_answer(each), by_batches=by_batches)
