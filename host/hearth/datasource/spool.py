"""The spool of a streaming read: polled rows until Spark has committed them, with the source positions after them.

It is the read's store of source offsets. A restarted task continues after the last segment, and Spark after the last
one it has planned. So each record is in one segment and each segment in one micro-batch, whichever process is killed
at whatever time. The files:

- ``spool.json``: the spool's id, which is in every offset of the stream
- ``state-N.json``, of which the newest counts: the runs of each task with their first segments, the segments that were
  removed because Spark has committed them, and the positions of their source partitions
- ``lock``, if the store supports it: held by the one read that may use the spool
- ``task-N/``: the segments of a task, numbered from 1
- ``control-N.json``, with tasks on executors: the read's messages to them (``spool_control``)

A run starts when a state records it. From then on segments of earlier runs count only up to the last one seen before,
and segments that such a run writes later, if it is still alive, are ignored.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from threading import Condition
from typing import Any

import orjson

from hearth.datasource.segment import SUFFIX, Segment, SpoolDamaged, described, folder_of
from hearth.datasource.spool_store import SpoolInUse, SpoolStore
from hearth_api import ConfigError, ConnectError

FORMAT = 2
LOCK_SECONDS = 60.0
"""How long a read waits for the previous one to end: a process whose driver was killed soon notices it."""
MOST_ROWS, MOST_BYTES = 4_000_000, 1 << 30
"""About how much may wait for Spark: beyond that a source is not polled until some of it is committed."""
AT_ONCE = 20
"""The maximum number of segments of a task to look for in one check."""
CONTROL = "control-"
_ID, _STATE = "spool.json", re.compile(r"state-(\d+)\.json")

Places = dict[int, int]
"""The number of the last segment of each task, inclusive."""


class SpoolMismatch(ConnectError):
    """A checkpoint and a spool do not belong together, or one of them was reset."""

    code = "spool.mismatch"
    hint = "use the query's own spool and checkpoint, or start over with an empty one of each"


class Spool:
    """A spool that only this process uses, except for tasks elsewhere that write segments into it.

    ``changed`` is notified of segments. Its lock guards the list of segments; everything else belongs to the thread
    that answers Spark.
    """

    def __init__(self, store: SpoolStore, unlock: Callable[[], None]) -> None:
        self.store, self._unlock = store, unlock
        self.id = _identity(store)
        self.changed = Condition()
        self._looking = threading.Lock()
        self._version, state = _newest_state(store)
        self._run: int = state["run"]
        self._begun: dict[int, list[tuple[int, int]]] = {
            int(task): [(first, run) for first, run in begun] for task, begun in state["begun"].items()
        }
        self._gone: Places = {int(task): number for task, number in state["gone"].items()}
        self._rows_gone: int = state["rows"]
        self._positions: dict[str, tuple[int, str]] = {key: (run, at) for key, (run, at) in state["positions"].items()}
        self._segments: dict[int, list[Segment]] = {}
        for task in self._begun:
            self._scanner(task)
        for name in store.names():
            if name.startswith(CONTROL):  # of a read that has ended
                store.remove(name)

    @classmethod
    def open(cls, store: SpoolStore, lock_seconds: float = LOCK_SECONDS) -> Spool:
        """Open the spool in a store, or create it.

        Raises SpoolInUse if another process uses it, and ConfigError if the store cannot hold a spool.
        """
        try:
            unlock = store.lock(lock_seconds)
        except OSError as error:
            raise _unusable(store, error) from error
        try:
            return cls(store, unlock)
        except BaseException as error:
            unlock()
            if isinstance(error, OSError):
                raise _unusable(store, error) from error
            raise

    def close(self) -> None:
        """Release the spool."""
        self._unlock()

    def begin(self, tasks: Iterable[int], *, is_read: bool = False) -> int:
        """Start a run of tasks; returns its number, which is in the names of the segments that count from now on.

        A new read (``is_read``) ends all earlier tasks, because source partitions may be assigned differently now.
        Raises SpoolInUse if another read has taken over the spool.
        """
        with self._looking:
            over = {*tasks, *(self._begun if is_read else ())}
            for task in over & {*self._begun}:
                self._look(task)
            self._run += 1
            with self.changed:
                for task in over:
                    begun = self._begun.setdefault(task, [])
                    first = self.last(task) + 1
                    if begun and begun[-1][0] == first:
                        begun.pop()
                    begun.append((first, self._run))
                self._save()
        return self._run

    # Segments -------------------------------------------------------------------------------------------------

    @property
    def gone(self) -> Places:
        """Return the last committed and removed segments, where a stream without a checkpoint starts."""
        return dict(self._gone)

    def add(self, segment: Segment) -> None:
        """Add a sealed segment; may be called from any thread."""
        with self.changed:
            self._segments.setdefault(segment.task, []).append(segment)
            self.changed.notify_all()

    def last(self, task: int) -> int:
        """Return the number of the last segment of a task; may be called from any thread."""
        with self.changed:
            known = self._segments.get(task)
            return known[-1].number if known else self._gone.get(task, 0)

    def behind(self, start: Places) -> list[Segment]:
        """Return the segments after ``start``, by task and number."""
        with self.changed:
            known = chain.from_iterable(self._segments[task] for task in sorted(self._segments))
            return [each for each in known if each.number > start.get(each.task, 0)]

    def between(self, start: Places, end: Places) -> list[Segment]:
        """Return the segments of a micro-batch; raises SpoolMismatch if one is missing."""
        found = [each for each in self.behind(start) if each.number <= end.get(each.task, 0)]
        wanted = sum(max(0, number - start.get(task, 0)) for task, number in end.items())
        if len(found) != wanted:
            raise SpoolMismatch(
                f"the spool {self.store.address!r} has only {len(found)} of the checkpoint's {wanted} segments"
            )
        return found

    def rows(self, end: Places) -> int:
        """Return the number of rows up to ``end`` since the spool was created."""
        with self.changed:
            known = [each for own in self._segments.values() for each in own]
        return self._rows_gone + sum(each.rows for each in known if each.number <= end.get(each.task, 0))

    @property
    def is_full(self) -> bool:
        """Return whether the maximum is waiting for Spark, so that tasks should not poll."""
        with self.changed:
            known = [each for own in self._segments.values() for each in own]
        return sum(each.rows for each in known) >= MOST_ROWS or sum(each.size for each in known) >= MOST_BYTES

    def look(self) -> bool:
        """Find segments that tasks elsewhere have sealed; may be called from any thread.

        Returns whether all were found; the number per check is limited, because tasks may be faster than this.
        """
        with self._looking:
            seen = [self._look(task) for task in self._begun]
        return all(seen)

    def positions(self) -> dict[str, str]:
        """Return the source's positions: the offset of each partition, both as JSON.

        A position counts as soon as the segment with the records before it exists.
        """
        with self.changed:
            merged = self._merged([each for known in self._segments.values() for each in known])
        return {key: at for key, (_, at) in merged.items()}

    # Commits --------------------------------------------------------------------------------------------------

    def check(self, places: Places) -> None:
        """Raise SpoolMismatch if a checkpoint's places are outside the range of this spool."""
        for task in {*places, *self._gone}:
            at = places.get(task, 0)
            if not self._gone.get(task, 0) <= at <= self.last(task):
                raise SpoolMismatch(
                    f"the checkpoint is at segment {at} of task {task}, but the spool {self.store.address!r} has "
                    f"segments {self._gone.get(task, 0) + 1} to {self.last(task)}"
                )

    def forget(self, end: Places) -> list[Segment]:
        """Remove the segments up to ``end``, which Spark has committed, and keep their positions.

        Raises SpoolInUse if another read has taken over the spool.
        """
        with self.changed:
            known = [each for own in self._segments.values() for each in own]
            done = [each for each in known if each.number <= end.get(each.task, 0)]
            if not done:
                return []
            self._positions = self._merged(done)
            for each in done:
                self._gone[each.task] = max(each.number, self._gone.get(each.task, 0))
            self._rows_gone += sum(each.rows for each in done)
            for task, begun in self._begun.items():
                while len(begun) > 1 and begun[1][0] <= self._gone.get(task, 0) + 1:
                    del begun[0]
            self._save()
            for task, own in self._segments.items():
                self._segments[task] = [each for each in own if each.number > end.get(task, 0)]
            self.changed.notify_all()
        for each in done:
            self.store.remove(each.name)
        return done

    def _merged(self, segments: list[Segment]) -> dict[str, tuple[int, str]]:
        """Merge the positions of removed and given segments: the last segment of the last run wins."""
        merged = dict(self._positions)
        for each in sorted(segments, key=lambda segment: (segment.run, segment.number)):
            for key, at in each.positions.items():
                if at is not None and each.run >= merged.get(key, (0, ""))[0]:
                    merged[key] = (each.run, at)
        return merged

    def run_of(self, task: int, number: int) -> int:
        """Return the run whose segment of this number counts."""
        with self.changed:
            return max((first, run) for first, run in self._begun[task] if first <= number)[1]

    def _look(self, task: int, most: int = AT_ONCE) -> bool:
        for _ in range(most):
            number = self.last(task) + 1
            segment = described(self.store, task, number, self.run_of(task, number))
            if segment is None:
                return True
            self.add(segment)
        return False

    def _scanner(self, task: int) -> None:
        """Find the segments that earlier runs have left, and remove all other files of the task."""
        while not self._look(task):
            pass
        counting = {each.name for each in self._segments.get(task, [])}
        names = [f"{folder_of(task)}/{each}" for each in self.store.names(folder_of(task))]
        missing = self.last(task) + 1
        for name in names:
            number = re.fullmatch(rf".*/(\d+)-(\d+)\{SUFFIX}", name)
            if number is not None and (at := int(number[1])) > missing and int(number[2]) == self.run_of(task, at):
                raise SpoolDamaged(f"segment {missing} of task {task} is missing in {self.store.address!r}")
        if missing < self._begun[task][-1][0]:
            raise SpoolDamaged(f"segment {missing} of task {task} is missing in {self.store.address!r}")
        for name in names:
            if name not in counting:
                self.store.remove(name)

    def _save(self) -> None:
        state = {
            "run": self._run,
            "begun": {str(task): begun for task, begun in sorted(self._begun.items())},
            "gone": {str(task): number for task, number in sorted(self._gone.items())},
            "rows": self._rows_gone,
            "positions": self._positions,
        }
        own = self._version + 1
        with contextlib.suppress(FileExistsError):
            self.store.create(_state_name(own), orjson.dumps(state))
            # the name is also free if another read is ahead: it removes a state once the next one exists
            if max(_states(self.store)) == own:
                self.store.remove(_state_name(self._version))
                self._version = own
                return
            self.store.remove(_state_name(own))
        raise SpoolInUse(f"another read has taken over the spool {self.store.address!r}")


def partition_key(partition: Mapping[str, Any]) -> str:
    """Return a key for a source partition that does not depend on the order of its members."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def offsets_at(positions: Mapping[str, str], partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Return the offsets of source partitions, ``None`` for unknown ones."""
    texts = [positions.get(partition_key(each)) for each in partitions]
    return [None if text is None else json.loads(text) for text in texts]


def identity_of(store: SpoolStore) -> str | None:
    """Return the id of the spool in a store, or None if there is none; raises SpoolDamaged."""
    try:
        data = store.read(_ID)
        if data is None:
            return None
        members = orjson.loads(data)
        if members["format"] != FORMAT:
            raise SpoolDamaged(
                f"the spool {store.address!r} has format {members['format']}, this Hearth supports {FORMAT}",
                hint="finish the query with the Hearth that started it, or start over with empty spool and checkpoint",
            )
        return str(members["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise SpoolDamaged(f"{_ID!r} in {store.address!r} does not describe a spool: {error}") from error


def _identity(store: SpoolStore) -> str:
    """Return the id of a spool, created if missing; raises ConfigError if the store has other files."""
    known = identity_of(store)
    if known is not None:
        return known
    if others := [each for each in store.names() if each != "lock" and not each.startswith(".")]:
        raise ConfigError("hearth.spool", store.address, f"the directory is not a spool and contains {others[0]!r}")
    fresh = str(uuid.uuid4())
    try:
        store.create(_ID, orjson.dumps({"id": fresh, "format": FORMAT}))
    except FileExistsError:
        raise SpoolInUse(f"another read has started the spool {store.address!r}") from None
    return fresh


def _newest_state(store: SpoolStore) -> tuple[int, dict[str, Any]]:
    """Return the newest state with its number, and remove older ones."""
    while True:
        found = _states(store)
        if not found:
            return 0, {"run": 0, "begun": {}, "gone": {}, "rows": 0, "positions": {}}
        newest = max(found)
        data = store.read(found.pop(newest))
        if data is None:  # replaced in the meantime
            continue
        try:
            state: dict[str, Any] = orjson.loads(data)
        except ValueError as error:
            raise SpoolDamaged(f"{_state_name(newest)!r} in {store.address!r} cannot be read: {error}") from error
        for name in found.values():
            store.remove(name)
        return newest, state


def _states(store: SpoolStore) -> dict[int, str]:
    """Return the names of states by number."""
    return {int(known[1]): each for each in store.names() if (known := _STATE.fullmatch(each))}


def _state_name(version: int) -> str:
    return f"state-{version:012}.json"


def _unusable(store: SpoolStore, error: OSError) -> ConfigError:
    return ConfigError("hearth.spool", store.address, f"it cannot be used: {error.strerror or error}")
