"""Messages between a streaming read and its tasks on executors, as files of the spool that both reach.

Neither side knows the other's address, and clocks are not compared: a side that receives nothing new for a time
considers the other lost. If that is wrong it costs only time, because only the spool's state decides which segments
count.
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
"""Each side sends a heartbeat every ``BEAT_LOOKS`` checks, and considers the other lost after ``LOST_LOOKS``."""
RUNS, ENDED, LEFT, FAILED = "runs", "ended", "left", "failed"


@dataclass(frozen=True)
class Control:
    """A read's message to its tasks: for each task its run, and the last segment that Spark has committed.

    ``beat`` increases while the read lives. Tasks must end if ``is_over``, and pause polling if ``is_full``.
    """

    beat: int
    is_over: bool
    is_full: bool
    tasks: dict[str, list[int]]


@dataclass(frozen=True)
class TaskReport:
    """The state of a task's run.

    It runs, has ended because the source is empty, has left because its executor ended, or has failed with a fact and
    a trace. ``place`` is host and process.
    """

    beat: int
    state: str
    place: str = ""
    fact: str = ""
    trace: str | None = field(default=None, repr=False)


T = TypeVar("T", Control, TaskReport)


def control_name(run: int) -> str:
    """Return the name of a read's control file; ``run`` is its first run."""
    return f"{CONTROL}{run:06}.json"


def report_name(task: int, run: int) -> str:
    """Return the name of the report file of a task's run."""
    return f"{folder_of(task)}/said-{run:06}.json"


def message_bytes(message: Control | TaskReport) -> bytes:
    """Serialize a message."""
    return orjson.dumps(asdict(message))


def read_message(store: SpoolStore, name: str, kind: type[T]) -> T | None:
    """Read a message; None if the file is missing or incomplete."""
    data = store.read(name)
    try:
        members: dict[str, Any] = orjson.loads(data or b"")
    except ValueError:
        return None
    return kind(**members)


class SilenceTimer:
    """Measures for how long the other side has sent nothing new."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beat = 0
        self._since = clock()

    def hear(self, beat: int) -> bool:
        """Record the latest beat, from 1 on; returns whether it is new."""
        if beat == self._beat:
            return False
        self._beat, self._since = beat, self._clock()
        return True

    @property
    def silent_seconds(self) -> float:
        """Return the time since the last new beat."""
        return self._clock() - self._since

    @property
    def is_heard(self) -> bool:
        """Return whether any beat was received."""
        return self._beat > 0
