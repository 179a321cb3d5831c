"""The spool of a streaming read: what its tasks polled, until Spark has it, and where their source stands behind that.

It is the read's store of source offsets. A task that starts again continues behind the last segment that is there,
Spark behind the last it has planned: so each record is in one segment, and each segment in one micro-batch, whoever is
killed when. What lies there:

- ``spool.json``: its id, which is in every offset of the stream
- ``state-N.json``, the newest of which counts: how often tasks were begun, and from which segment on; the segments
  that are gone because Spark has committed them, and the positions of their source partitions
- ``lock``, where the place has such: held by the one read that may use it
- ``task-N/``: the segments of a task, numbered from 1
- ``control-N.json``, with tasks on executors: what their read tells them (``spool_control``)

A task is begun by a state that says so. From then on segments of its former runs count up to where they were seen by
then, and what such a run writes later, wherever it still lives, counts no more.
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
"""How long a read waits for the end of the one before: a process whose driver was killed takes note of that soon."""
MOST_ROWS, MOST_BYTES = 4_000_000, 1 << 30
"""How much waits for Spark at most, about: a source is polled no further before some of it is committed."""
AT_ONCE = 20
"""So many segments of each task are looked for before anything else is."""
CONTROL = "control-"
_ID, _STATE = "spool.json", re.compile(r"state-(\d+)\.json")

Places = dict[int, int]
"""Numbers of segments, by task: up to there, these included."""


class SpoolMismatch(ConnectError):
    """A checkpoint and a spool do not belong together, or one of the two was set back."""

    code = "spool.mismatch"
    hint = "give the query the spool and the checkpoint it had; or begin anew, with an empty one of each"


class Spool:
    """A spool that this process alone uses, but for tasks elsewhere that write segments into it.

    ``changed`` is told of segments. Its lock guards what is known of them; everything else belongs to the thread that
    speaks with Spark.
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
            if name.startswith(CONTROL):  # of a read that has ended, as its tasks are to do
                store.remove(name)

    @classmethod
    def open(cls, store: SpoolStore, lock_seconds: float = LOCK_SECONDS) -> Spool:
        """Return the spool in a place, which is made where there is none.

        Raises SpoolInUse where somebody else uses it, and ConfigError for what can be no spool.
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
        """Let others use it."""
        self._unlock()

    def begin(self, tasks: Iterable[int], *, is_read: bool = False) -> int:
        """Begin a run of tasks; returns its number, which is in the names of the segments that count from now on.

        With a read that begins all tasks end that there have been: they may have had what others are given now. Raises
        SpoolInUse where another read has taken the spool over.
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
        """Return the segments behind some places, by task and number."""
        with self.changed:
            known = chain.from_iterable(self._segments[task] for task in sorted(self._segments))
            return [each for each in known if each.number > start.get(each.task, 0)]

    def between(self, start: Places, end: Places) -> list[Segment]:
        """Return the segments of a micro-batch; raises SpoolMismatch where one is missing."""
        found = [each for each in self.behind(start) if each.number <= end.get(each.task, 0)]
        wanted = sum(max(0, number - start.get(task, 0)) for task, number in end.items())
        if len(found) != wanted:
            raise SpoolMismatch(
                f"the spool {self.store.address!r} has {len(found)} of the {wanted} segments that the checkpoint names"
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

    def look(self) -> bool:
        """Take note of segments that tasks elsewhere have sealed since; may be called from any thread.

        Returns whether these are all: where tasks are faster than this looks, they would be for ever.
        """
        with self._looking:
            seen = [self._look(task) for task in self._begun]
        return all(seen)

    def positions(self) -> dict[str, str]:
        """Return where the source stands: JSON of its partitions, each with that of its offset.

        A position counts as soon as the segment is there that holds the records before it.
        """
        with self.changed:
            merged = self._merged([each for known in self._segments.values() for each in known])
        return {key: at for key, (_, at) in merged.items()}

    # What Spark has -------------------------------------------------------------------------------------------

    def check(self, places: Places) -> None:
        """Raise SpoolMismatch where a checkpoint stands elsewhere than this spool can have been."""
        for task in {*places, *self._gone}:
            at = places.get(task, 0)
            if not self._gone.get(task, 0) <= at <= self.last(task):
                raise SpoolMismatch(
                    f"the checkpoint stands at segment {at} of task {task}, and the spool {self.store.address!r} has "
                    f"those from {self._gone.get(task, 0) + 1} to {self.last(task)}"
                )

    def forget(self, end: Places) -> list[Segment]:
        """Remove the segments up to some places, whose rows Spark has committed, and keep their positions.

        Raises SpoolInUse where another read has taken the spool over.
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
        """Return the positions of what is gone and of segments: of the last run, and in it of the last segment."""
        merged = dict(self._positions)
        for each in sorted(segments, key=lambda segment: (segment.run, segment.number)):
            for key, at in each.positions.items():
                if at is not None and each.run >= merged.get(key, (0, ""))[0]:
                    merged[key] = (each.run, at)
        return merged

    def run_of(self, task: int, number: int) -> int:
        """Return the run whose segment of a number counts."""
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
        """Take note of the segments that those before have left, and remove all else that belongs to their task."""
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
            # the name is free as well where another has come further: it removes a state when the next is there
            if max(_states(self.store)) == own:
                self.store.remove(_state_name(self._version))
                self._version = own
                return
            self.store.remove(_state_name(own))
        raise SpoolInUse(f"another read has taken over the spool {self.store.address!r}")


def partition_key(partition: Mapping[str, Any]) -> str:
    """Return what tells a source partition from others, whatever the order of its members."""
    return json.dumps(partition, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def offsets_at(positions: Mapping[str, str], partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Return the offsets of source partitions, of which nothing may be known."""
    texts = [positions.get(partition_key(each)) for each in partitions]
    return [None if text is None else json.loads(text) for text in texts]


def identity_of(store: SpoolStore) -> str | None:
    """Return the id of the spool in a place, or nothing where there is none; raises SpoolDamaged."""
    try:
        data = store.read(_ID)
        if data is None:
            return None
        members = orjson.loads(data)
        if members["format"] != FORMAT:
            raise SpoolDamaged(
                f"the spool {store.address!r} is of format {members['format']}, this Hearth knows {FORMAT}",
                hint="end the query with the Hearth that began it, or begin anew with an empty spool and checkpoint",
            )
        return str(members["id"])
    except (ValueError, KeyError, TypeError) as error:
        raise SpoolDamaged(f"{_ID!r} in {store.address!r} is no description of a spool: {error}") from error


def _identity(store: SpoolStore) -> str:
    """Return the id of a spool, which is made; a place that holds something else is none."""
    known = identity_of(store)
    if known is not None:
        return known
    if others := [each for each in store.names() if each != "lock" and not each.startswith(".")]:
        raise ConfigError("hearth.spool", store.address, f"the directory is no spool and holds {others[0]!r}")
    fresh = str(uuid.uuid4())
    try:
        store.create(_ID, orjson.dumps({"id": fresh, "format": FORMAT}))
    except FileExistsError:
        raise SpoolInUse(f"another read has begun the spool {store.address!r}") from None
    return fresh


def _newest_state(store: SpoolStore) -> tuple[int, dict[str, Any]]:
    """Return the number of the newest state and the state; older ones are removed."""
    while True:
        found = _states(store)
        if not found:
            return 0, {"run": 0, "begun": {}, "gone": {}, "rows": 0, "positions": {}}
        newest = max(found)
        data = store.read(found.pop(newest))
        if data is None:  # it was replaced meanwhile
            continue
        try:
            state: dict[str, Any] = orjson.loads(data)
        except ValueError as error:
            raise SpoolDamaged(f"{_state_name(newest)!r} in {store.address!r} cannot be read: {error}") from error
        for name in found.values():
            store.remove(name)
        return newest, state


def _states(store: SpoolStore) -> dict[int, str]:
    """Return the names of states, by their numbers."""
    return {int(known[1]): each for each in store.names() if (known := _STATE.fullmatch(each))}


def _state_name(version: int) -> str:
    return f"state-{version:012}.json"


def _unusable(store: SpoolStore, error: OSError) -> ConfigError:
    return ConfigError("hearth.spool", store.address, f"it cannot be used: {error.strerror or error}")
