"""The spool of a streaming read: what its tasks polled, until Spark has it, and where their source stands behind that.

It is the read's store of source offsets. A task that starts again continues behind the last segment that is there,
Spark behind the last it has planned: so each record is in one segment, and each segment in one micro-batch, whoever is
killed when. What lies in the directory:

- ``spool.json``: its id, which is in every offset of the stream
- ``state.json``: how often the read was begun; the segments that are gone because Spark has committed them, and the
  positions of their source partitions
- ``lock``: held by the one read that may use it
- ``task-N/``: the segments of a task, numbered from 1
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from threading import Condition
from typing import Any

import orjson

from hearth.datasource.segment import SUFFIX, Segment, SpoolDamaged, described, segment_path
from hearth.foundation.user_file import replace_durably
from hearth_api import ConfigError, ConflictError, ConnectError

FORMAT = 1
LOCK_SECONDS = 60.0
"""How long a read waits for the end of the one before: a process whose driver was killed takes note of that soon."""
MOST_ROWS, MOST_BYTES = 4_000_000, 1 << 30
"""How much waits for Spark at most, about: a source is polled no further before some of it is committed."""
_ID, _STATE = "spool.json", "state.json"

Places = dict[int, int]
"""Numbers of segments, by task: up to there, these included."""


class SpoolMismatch(ConnectError):
    """A checkpoint and a spool do not belong together, or one of the two was set back."""

    code = "spool.mismatch"
    hint = "give the query the spool and the checkpoint it had; or begin anew, with an empty one of each"


class SpoolInUse(ConflictError):
    """Another query uses the spool."""

    code = "spool.in_use"
    hint = "stop that query, or give each its own hearth.spool"


class Spool:
    """A spool that this process alone uses, but for tasks elsewhere that write segments into it.

    ``changed`` is told of segments that were sealed here. Its lock guards what is known of segments; everything else
    belongs to the thread that speaks with Spark.
    """

    def __init__(self, root: Path, lock: int) -> None:
        self.root, self._lock = root, lock
        self.id = _identity(root)
        self.changed = Condition()
        state = _state(root)
        self.run: int = state["run"]
        self._gone: Places = {int(task): number for task, number in state["gone"].items()}
        self._rows_gone: int = state["rows"]
        self._positions: dict[str, tuple[int, str]] = {key: (run, at) for key, (run, at) in state["positions"].items()}
        self._segments: dict[int, list[Segment]] = {}

    @classmethod
    def open(cls, root: Path, lock_seconds: float = LOCK_SECONDS) -> Spool:
        """Return the spool in a directory, which is made where there is none; its next run has begun.

        Raises SpoolInUse where somebody else uses it, and ConfigError for what can be no spool.
        """
        try:
            root.mkdir(parents=True, exist_ok=True)
            lock = _locked(root, lock_seconds)
        except OSError as error:
            raise ConfigError("hearth.spool", str(root), f"it cannot be used: {error.strerror or error}") from error
        try:
            spool = cls(root, lock)
            spool._begin()
        except BaseException:
            os.close(lock)
            raise
        return spool

    def close(self) -> None:
        """Let others use it."""
        os.close(self._lock)

    # What is in it --------------------------------------------------------------------------------------------

    @property
    def gone(self) -> Places:
        """Return up to where segments were committed and are gone: where a stream without a checkpoint begins."""
        return dict(self._gone)

    def add(self, segment: Segment) -> None:
        """Take note of a segment that was sealed; may be called from any thread."""
        with self.changed:
            self._segments.setdefault(segment.task, []).append(segment)
            self.changed.notify_all()

    def last(self, task: int) -> int:
        """Return the number of the last segment of a task; may be called from any thread."""
        with self.changed:
            known = self._segments.get(task)
            return known[-1].number if known else self._gone.get(task, 0)

    def behind(self, start: Places) -> list[Segment]:
        """Return the segments behind some places, those of each task in their order."""
        with self.changed:
            return [
                each for known in self._segments.values() for each in known if each.number > start.get(each.task, 0)
            ]

    def between(self, start: Places, end: Places) -> list[Segment]:
        """Return the segments of a micro-batch; raises SpoolMismatch where one is missing."""
        found = [each for each in self.behind(start) if each.number <= end.get(each.task, 0)]
        wanted = sum(max(0, number - start.get(task, 0)) for task, number in end.items())
        if len(found) != wanted:
            raise SpoolMismatch(
                f"the spool {str(self.root)!r} has {len(found)} of the {wanted} segments that the checkpoint names"
            )
        return found

    def rows(self, end: Places) -> int:
        """Return how many rows there were up to some places since the spool was begun."""
        with self.changed:
            known = [each for own in self._segments.values() for each in own]
        return self._rows_gone + sum(each.rows for each in known if each.number <= end.get(each.task, 0))

    @property
    def is_full(self) -> bool:
        """Return whether as much waits for Spark as may: no more should be polled for now."""
        with self.changed:
            known = [each for own in self._segments.values() for each in own]
        return sum(each.rows for each in known) >= MOST_ROWS or sum(each.size for each in known) >= MOST_BYTES

    def look(self) -> None:
        """Take note of segments that tasks elsewhere have sealed since."""
        for folder in self.root.glob("task-*"):
            task = int(folder.name.removeprefix("task-"))
            number = self.last(task) + 1
            while (path := segment_path(self.root, task, number)).exists():
                self.add(described(path, task))
                number += 1

    def offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return where the source stands, by source partition; may be called from any thread.

        A position counts as soon as the segment is there that holds the records before it.
        """
        with self.changed:
            merged = self._merged([each for known in self._segments.values() for each in known])
        texts = [merged.get(partition_key(each)) for each in partitions]
        return [None if text is None else json.loads(text[1]) for text in texts]

    # What Spark has -------------------------------------------------------------------------------------------

    def check(self, places: Places) -> None:
        """Raise SpoolMismatch where a checkpoint stands elsewhere than this spool can have been."""
        for task in {*places, *self._gone}:
            at = places.get(task, 0)
            if not self._gone.get(task, 0) <= at <= self.last(task):
                raise SpoolMismatch(
                    f"the checkpoint stands at segment {at} of task {task}, and the spool {str(self.root)!r} has "
                    f"those from {self._gone.get(task, 0) + 1} to {self.last(task)}"
                )

    def forget(self, end: Places) -> list[Segment]:
        """Remove the segments up to some places, whose rows Spark has committed, and keep their positions."""
        with self.changed:
            known = [each for own in self._segments.values() for each in own]
            done = [each for each in known if each.number <= end.get(each.task, 0)]
            if not done:
                return []
            self._positions = self._merged(done)
            for each in done:
                self._gone[each.task] = max(each.number, self._gone.get(each.task, 0))
            self._rows_gone += sum(each.rows for each in done)
            self._save()
            for task, own in self._segments.items():
                self._segments[task] = [each for each in own if each.number > end.get(task, 0)]
            self.changed.notify_all()
        for each in done:
            each.path(self.root).unlink(missing_ok=True)
        return done

    def _merged(self, segments: list[Segment]) -> dict[str, tuple[int, str]]:
        """Return the positions of what is gone and of segments: of the last run, and in it of the last segment."""
        merged = dict(self._positions)
        for each in sorted(segments, key=lambda segment: (segment.run, segment.number)):
            for key, at in each.positions.items():
                if at is not None and each.run >= merged.get(key, (0, ""))[0]:
                    merged[key] = (each.run, at)
        return merged

    def _begin(self) -> None:
        """Count a run, and look through what those before have left."""
        self.run += 1
        self._save()
        for folder in self.root.glob("task-*"):
            task = int(folder.name.removeprefix("task-"))
            for path in folder.glob("*.part"):
                path.unlink(missing_ok=True)
            for path in sorted(folder.glob(f"*{SUFFIX}")):
                if int(path.stem) <= self._gone.get(task, 0):
                    path.unlink(missing_ok=True)
                    continue
                segment = described(path, task)
                if segment.number != self.last(task) + 1:
                    raise SpoolDamaged(
                        f"segment {self.last(task) + 1} of task {task} is missing in {str(self.root)!r}"
                    )
                self.add(segment)

    def _save(self) -> None:
        gone = {str(task): number for task, number in sorted(self._gone.items())}
        state = {"run": self.run, "gone": gone, "rows": self._rows_gone, "positions": self._positions}
        replace_durably(self.root / _STATE, orjson.dumps(state))


def partition_key(partition: Mapping[str, Any]) -> str:
    """Return what tells a source partition from others, whatever the order of its members."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _identity(root: Path) -> str:
    """Return the id of a spool; a directory that holds something else is none."""
    path = root / _ID
    try:
        members = orjson.loads(path.read_bytes())
        if members["format"] != FORMAT:
            raise SpoolDamaged(f"{str(path)!r} is of format {members['format']}, this Hearth knows {FORMAT}")
        return str(members["id"])
    except FileNotFoundError:
        if others := [each.name for each in root.iterdir() if each.name not in ("lock", f"{_ID}.new")]:
            raise ConfigError(
                "hearth.spool", str(root), f"the directory is no spool and holds {others[0]!r}"
            ) from None
        fresh = str(uuid.uuid4())
        replace_durably(path, orjson.dumps({"id": fresh, "format": FORMAT}))
        return fresh
    except (ValueError, KeyError, TypeError) as error:
        raise SpoolDamaged(f"{str(path)!r} is no description of a spool: {error}") from error


def _state(root: Path) -> dict[str, Any]:
    path = root / _STATE
    try:
        state: dict[str, Any] = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return {"run": 0, "gone": {}, "rows": 0, "positions": {}}
    except ValueError as error:
        raise SpoolDamaged(f"{str(path)!r} cannot be read: {error}") from error
    return state


def _locked(root: Path, seconds: float) -> int:
    """Return the descriptor of the lock, held; raises SpoolInUse."""
    lock = os.open(root / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(0.05)
                continue
            holder = os.pread(lock, 32, 0).decode(errors="replace").strip()
            os.close(lock)
            raise SpoolInUse(f"the spool {str(root)!r} is used by process {holder or 'unknown'}") from None
        with contextlib.suppress(OSError):
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
        return lock
