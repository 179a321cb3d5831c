"""What a streaming read and its tasks on executors tell each other, by files of the spool that both reach.

Neither knows where the other is, and no clock is compared: whoever hears nothing new for a time takes the other for
gone. That may be wrong, and costs time then: which segments count is written in the spool's state alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

import orjson

from hearth.datasource.segment import folder_of
from hearth.datasource.spool import CONTROL
from hearth.datasource.spool_store import SpoolStore

BEAT_LOOKS, LOST_LOOKS = 5, 100
"""Each says at least with every so many looks that it is there, and takes the other for gone after so many."""
RUNS, ENDED, LEFT, FAILED = "runs", "ended", "left", "failed"


@dataclass(frozen=True)
class Control:
    """What tasks are told: by task its run, and up to where Spark has committed what it wrote.

    ``beat`` grows while the read lives. ``is_over`` is whether tasks are to end, ``is_full`` whether they are to wait.
    """

    beat: int
    is_over: bool
    is_full: bool
    tasks: dict[str, list[int]]


@dataclass(frozen=True)
class TaskReport:
    """What the run of a task says of itself.

    It runs, has ended as there is no more, was left by its executor, or failed: then with what there is to tell.
    ``place`` is machine and process.
    """

    beat: int
    state: str
    place: str = ""
    fact: str = ""
    trace: str | None = field(default=None, repr=False)


T = TypeVar("T", Control, TaskReport)


def control_name(run: int) -> str:
    """Return the file of what a read says whose first run this is."""
    return f"{CONTROL}{run:06}.json"


def said_name(task: int, run: int) -> str:
    """Return the file of what the run of a task says."""
    return f"{folder_of(task)}/said-{run:06}.json"


def written(message: Control | TaskReport) -> bytes:
    """Return what a file holds."""
    return orjson.dumps(asdict(message))


def heard(store: SpoolStore, name: str, kind: type[T]) -> T | None:
    """Return what a file says, or nothing where it is not there, or half of it is."""
    data = store.read(name)
    try:
        members: dict[str, Any] = orjson.loads(data or b"")
    except ValueError:
        return None
    return kind(**members)


class SilenceTimer:
    """Knows for how long the other side has said nothing new."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beat = 0
        self._since = clock()

    def hear(self, beat: int) -> bool:
        """Take note of what was said last, from 1 on; returns whether that is new."""
        if beat == self._beat:
            return False
        self._beat, self._since = beat, self._clock()
        return True

    @property
    def silent_seconds(self) -> float:
        """Return for how long nothing new was said."""
        return self._clock() - self._since

    @property
    def is_heard(self) -> bool:
        """Return whether anything was."""
        return self._beat > 0
