"""Decides from load and time how many executors to request and which one to release, without calling Spark."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from hearth.config.capacity_key import Capacity

CALM_SECONDS = 60.0
"""How long load must be low and the executors unchanged before one is released."""
SETTLING_SECONDS = 20.0
"""How long load is ignored after executors were added or removed, while tasks move and restart."""


@dataclass(frozen=True)
class ExecutorLoad:
    """An executor that accepts tasks, with its tasks and the share of its CPU that was used since the last check, from
    0 to 1, None if unknown.
    """

    id: str
    slots: int
    tasks: Collection[str] = ()
    cpu: float | None = None


@dataclass(frozen=True)
class Decision:
    """The number of executors to request, the one to release, if any, and the reason."""

    wanted: int
    leaving: str | None = None
    reason: str = ""


@dataclass
class Scaling:
    """Decides at each check of the executors: scales out at once, scales in after a while, one executor at a time.

    Leaving executors are not part of its input. An executor is released only if the others have free slots for all of
    its tasks. ``wanted`` is the last requested number.
    """

    capacity: Capacity
    wanted: int = field(init=False)
    _seen: frozenset[str] = field(init=False, default=frozenset())
    _settled_at: float = field(init=False, default=0.0)
    _calm_since: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.wanted = self.capacity.least

    def decide(self, now: float, executors: Sequence[ExecutorLoad], waiting: int) -> Decision:
        """Return the decision, given the number of ``waiting`` tasks; ``now`` is in seconds of any clock."""
        present = frozenset(each.id for each in executors)
        if present != self._seen:
            self._seen, self._settled_at, self._calm_since = present, now + SETTLING_SECONDS, None
        decision = self._out(now, executors, waiting) or self._in(now, executors, waiting)
        decision = decision or Decision(self.wanted)
        self.wanted = decision.wanted
        return decision

    def _out(self, now: float, executors: Sequence[ExecutorLoad], waiting: int) -> Decision | None:
        """Request more if tasks wait or load is high, unless requested executors are still missing."""
        count, most = len(executors), self.capacity.most
        if count < self.wanted or count >= most or not executors:
            return None
        if waiting:
            slots = max(1, min(each.slots for each in executors))
            wanted = min(most, count + math.ceil(waiting / slots))
            return Decision(wanted, reason=f"{waiting} tasks wait for a slot")
        mean = _mean(executors)
        if mean is None or mean <= self.capacity.scale_out or now < self._settled_at:
            return None
        wanted = min(most, max(count + 1, math.ceil(count * mean / self.capacity.scale_out)))
        return Decision(wanted, reason=f"their mean CPU is {mean:.0%}")

    def _in(self, now: float, executors: Sequence[ExecutorLoad], waiting: int) -> Decision | None:
        """Release an executor, or cancel the request for missing ones, if load has been low for a while."""
        count, mean = len(executors), _mean(executors)
        surplus = count > self.capacity.most
        is_calm = mean is not None and mean < self.capacity.scale_in and not waiting
        if not is_calm or now < self._settled_at:
            self._calm_since = None
            if not surplus:
                return None
        elif self._calm_since is None:
            self._calm_since = now
        if not surplus:
            if self._calm_since is None or now - self._calm_since < CALM_SECONDS:
                return None
            if count < self.wanted and count >= self.capacity.least:
                return Decision(count, reason="the missing ones are not needed")
            if count <= self.capacity.least or mean is None or mean * count / (count - 1) >= self.capacity.scale_out:
                return None
        leaving = _dispensable(executors)
        if leaving is None:
            return None
        self._calm_since = None
        return Decision(count - 1, leaving, "there are too many" if surplus else f"their mean CPU is {mean:.0%}")


def moves(executors: Sequence[ExecutorLoad]) -> list[str]:
    """Return the tasks to move so that executors differ by at most one task, as in Kafka Connect's assignment."""
    tasks = {each.id: list(each.tasks) for each in executors}
    free = {each.id: each.slots - len(each.tasks) for each in executors}
    moving = []
    while tasks:
        most = max(tasks, key=lambda each: len(tasks[each]))
        takers = [each for each in tasks if free[each] > 0]
        if not takers:
            break
        least = min(takers, key=lambda each: len(tasks[each]))
        if len(tasks[most]) - len(tasks[least]) < 2:
            break
        moving.append(tasks[most].pop())
        tasks[least].insert(0, "")  # a moved task does not move again
        free[least] -= 1
        free[most] += 1
    return moving


def _mean(executors: Sequence[ExecutorLoad]) -> float | None:
    """Return the mean CPU, 0 for an executor without tasks; None if any executor's CPU is unknown."""
    shares = [each.cpu if each.tasks else each.cpu or 0.0 for each in executors]
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known and len(known) == len(shares) else None


def _dispensable(executors: Sequence[ExecutorLoad]) -> str | None:
    """Return the executor with the fewest tasks, or None if the others have no slots for them."""
    fewest = min(executors, key=lambda each: len(each.tasks))
    free = sum(each.slots - len(each.tasks) for each in executors if each.id != fewest.id)
    return fewest.id if free >= len(fewest.tasks) else None
