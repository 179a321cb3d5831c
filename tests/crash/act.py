"""Acts on connectors, and their times; a seed always yields the same acts.

The operator's acts follow each other, as they do over REST; faults happen in parallel.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

MOST_TASKS = 3
MOST_NEW_PARTITIONS = 2
_KINDS = {"pause": 6, "resume": 2, "restart": 4, "restart-task": 4, "rescale": 4, "recreate": 3, "partition": 1}
_EITHER = ("sink", "sink", "sink", "source")


@dataclass(frozen=True)
class Act:
    """One act, `at` seconds after the start; `number` is a count, a task's number or a duration."""

    at: float
    kind: str
    target: str = ""
    number: float = 0

    def __str__(self) -> str:
        """Describe the act for the log."""
        return f"{self.at:7.2f} {self.kind} {self.target} {self.number:g}"


def operator_acts(seed: int, seconds: float) -> list[Act]:
    """Return the operator's acts."""
    chance = random.Random(f"operator {seed}")
    paused = {"sink": False, "source": False}
    acts: list[Act] = []
    partitions = 0
    for at in _moments(chance, seconds, 0.2, 2.5):
        target = chance.choice(_EITHER)
        kind = _kind(chance, paused[target], partitions)
        partitions += kind == "partition"
        paused[target] = kind == "pause" or (paused[target] and kind != "resume")
        acts.append(Act(at, kind, target, _number(chance, kind)))
    return acts


def _kind(chance: random.Random, is_paused: bool, partitions: int) -> str:
    """Choose an act; after a pause it is mostly a resume."""
    if is_paused and chance.random() < 0.7:
        return "resume"
    kind = chance.choices(list(_KINDS), list(_KINDS.values()))[0]
    return "rescale" if kind == "partition" and partitions == MOST_NEW_PARTITIONS else kind


def _number(chance: random.Random, kind: str) -> float:
    """Return the argument of an act: a number of tasks, a task or a duration."""
    numbers = {"rescale": chance.randint(1, MOST_TASKS), "restart-task": chance.randrange(MOST_TASKS)}
    return numbers.get(kind, round(chance.uniform(0, 1), 2))


def faults(seed: int, seconds: float, longest_stop: float) -> list[Act]:
    """Return the faults of the sink's system and of the broker."""
    chance = random.Random(f"faults {seed}")
    return sorted([*_unwell(chance, seconds), *_broker(chance, seconds, longest_stop)], key=lambda act: act.at)


def _unwell(chance: random.Random, seconds: float) -> Iterator[Act]:
    """Yield phases in which the sink's system throttles; they cover most of the time."""
    at = chance.uniform(0.5, 2)
    while at < seconds:
        yield Act(at, "unwell")
        at += chance.uniform(2, 8)
        yield Act(min(at, seconds), "well")
        at += chance.uniform(0.5, 3)


def _broker(chance: random.Random, seconds: float, longest: float) -> Iterator[Act]:
    """Yield intervals in which the broker does not respond."""
    at = chance.uniform(0.2, 0.5) * min(seconds, 30)
    while at < seconds:
        stopped = chance.uniform(0.5, longest)
        yield Act(at, "stop-broker")
        yield Act(at + stopped, "continue-broker")
        at += stopped + chance.uniform(8, 25)


def kills(seed: int, seconds: float) -> list[Act]:
    """Return which process of Hearth is killed, and when."""
    chance = random.Random(f"kills {seed}")
    kinds = ["kill-stage", "kill-stage", "kill-worker"]
    return [Act(at, chance.choice(kinds), chance.choice(_EITHER)) for at in _moments(chance, seconds, 6, 20)]


def _moments(chance: random.Random, seconds: float, least: float, most: float) -> Iterator[float]:
    """Yield moments that are between ``least`` and ``most`` seconds apart."""
    at = chance.uniform(0.5, 1.5) * least + 1
    while at < seconds:
        yield round(at, 3)
        at += chance.uniform(least, most)
