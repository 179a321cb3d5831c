"""Segments of a spool: files of rows in Spark's types, with the positions up to which they were read from the source.

A segment is one file, so its rows and their positions are there together or not at all. It is an Arrow IPC stream, and
behind its end JSON, the length of that in eight bytes, and eight bytes that say that all of it is there. Nothing in it
ever changes. Its name has its number and the run that wrote it, so nobody else's can take its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from hearth.datasource.spool_store import SpoolStore
from hearth_api import ConnectError

SUFFIX = ".arrow"
_MARK = b"HEARTHSP"
_LENGTH = 8
_GUESS = 4096
"""So many bytes of an end are mostly all there is behind the rows."""


class SpoolDamaged(ConnectError):
    """A file of a spool is not what was written there."""

    code = "spool.damaged"
    hint = "restore the spool, or begin anew with an empty one and an empty checkpoint"


@dataclass(frozen=True)
class Segment:
    """What is known of a segment without reading its rows.

    ``run`` counts how often tasks were begun, ``polled`` the records it was made of, ``size`` the bytes of its rows.
    ``positions`` are JSON texts of source partitions, each with that of its offset, or ``None`` where the source has
    none.
    """

    task: int
    number: int
    run: int
    rows: int
    polled: int
    size: int
    positions: dict[str, str | None] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Return its name in a spool."""
        return segment_name(self.task, self.number, self.run)


def segment_name(task: int, number: int, run: int) -> str:
    """Return the name of a segment in a spool."""
    return f"{folder_of(task)}/{number:012}-{run:06}{SUFFIX}"


def folder_of(task: int) -> str:
    """Return the folder of what belongs to a task."""
    return f"task-{task}"


class SegmentWriter:
    """Writes the next segment of a task; nobody sees it before it is sealed."""

    def __init__(self, store: SpoolStore, task: int, number: int, run: int, schema: Any) -> None:
        self._store, self.task, self.number, self._run = store, task, number, run
        self._draft = store.draft(segment_name(task, number, run))
        self._file = open(self._draft, "wb")  # noqa: SIM115  (closed by seal, or drop)
        self._stream = pa.ipc.new_stream(self._file, schema)
        self.rows = self.polled = 0
        self._positions: dict[str, str | None] = {}

    @property
    def size(self) -> int:
        """Return how many bytes there are by now."""
        return self._file.tell()

    def add(self, batches: list[Any], polled: int, positions: dict[str, str | None]) -> None:
        """Add what became of records that were polled together, and where their source stood behind them."""
        for batch in batches:
            self._stream.write_batch(batch)
            self.rows += batch.num_rows
        self.polled += polled
        self._positions.update(positions)

    def seal(self) -> Segment:
        """Have the segment there for all to see, durable."""
        self._stream.close()
        facts: dict[str, Any] = {
            "rows": self.rows,
            "polled": self.polled,
            "size": self._file.tell(),
            "positions": self._positions,
        }
        text = orjson.dumps(facts)
        self._file.write(text + len(text).to_bytes(_LENGTH, "little") + _MARK)
        segment = Segment(self.task, self.number, self._run, **facts)
        self._file.close()
        self._store.publish(self._draft, segment.name)
        return segment

    def drop(self) -> None:
        """Leave nothing of it."""
        self._file.close()
        self._draft.unlink(missing_ok=True)


def described(store: SpoolStore, task: int, number: int, run: int) -> Segment | None:
    """Return what a segment says of itself, or nothing where there is none; raises SpoolDamaged."""
    name = segment_name(task, number, run)
    try:
        end = store.end(name, _GUESS)
        if end is None:
            return None
        length = int.from_bytes(end[-_LENGTH - len(_MARK) : -len(_MARK)], "little")
        whole = length + _LENGTH + len(_MARK)
        if end[-len(_MARK) :] == _MARK and whole > len(end):
            end = store.end(name, whole) or end
        if end[-len(_MARK) :] != _MARK or not 0 < length <= len(end) - _LENGTH - len(_MARK):
            raise SpoolDamaged(f"{name!r} in {store.address!r} is no whole segment of a spool")
        return Segment(task, number, run, **orjson.loads(end[-whole : -_LENGTH - len(_MARK)]))
    except (OSError, ValueError, TypeError) as error:
        raise SpoolDamaged(f"{name!r} in {store.address!r} cannot be read: {error}") from error


def batches_of(store: SpoolStore, name: str, schema: Any) -> Iterator[Any]:
    """Yield the rows of a segment, as they lie there; raises SpoolDamaged, also where they are of another schema."""
    try:
        source = store.open(name)
    except OSError as error:
        raise SpoolDamaged(f"{name!r} in {store.address!r} cannot be read: {error}") from error
    stream = pa.ipc.open_stream(source)
    if stream.schema != schema:
        raise SpoolDamaged(
            f"{name!r} holds rows of {stream.schema.to_string(show_field_metadata=False)!r}, and is to be read as "
            f"{schema.to_string(show_field_metadata=False)!r}",
            hint="read the spool with the .schema(...) that it was begun with",
        )
    yield from stream
