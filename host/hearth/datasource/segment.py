"""Segments of a spool: files of rows in Spark's types, with the source positions after those rows.

A segment is one file, so its rows and their positions exist together or not at all. It is an Arrow IPC stream followed
by JSON, the length of that in eight bytes, and an end mark of eight bytes. A segment never changes. Its name has its
number and the run that wrote it, so another run cannot replace it.
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
"""Bytes to read from the end of a file, usually enough for everything after the rows."""


class SpoolDamaged(ConnectError):
    """A file of a spool is missing or corrupt."""

    code = "spool.damaged"
    hint = "restore the spool, or start over with an empty spool and an empty checkpoint"


@dataclass(frozen=True)
class Segment:
    """The metadata of a segment.

    ``run`` is the number of the run that wrote it, ``polled`` the number of polled records, ``size`` the bytes of its
    rows. ``positions`` map source partitions to offsets, both as JSON texts; ``None`` if the source has no offset.
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
        """Return its name in the spool."""
        return segment_name(self.task, self.number, self.run)


def segment_name(task: int, number: int, run: int) -> str:
    """Return the name of a segment in a spool."""
    return f"{folder_of(task)}/{number:012}-{run:06}{SUFFIX}"


def folder_of(task: int) -> str:
    """Return the folder of a task."""
    return f"task-{task}"


class SegmentWriter:
    """Writes the next segment of a task; it is invisible until it is sealed."""

    def __init__(self, store: SpoolStore, task: int, number: int, run: int, schema: Any) -> None:
        self._store, self.task, self.number, self._run = store, task, number, run
        self._draft = store.draft(segment_name(task, number, run))
        self._file = open(self._draft, "wb")  # noqa: SIM115  (closed by seal or drop)
        self._stream = pa.ipc.new_stream(self._file, schema)
        self.rows = self.polled = 0
        self._positions: dict[str, str | None] = {}

    @property
    def size(self) -> int:
        """Return the number of bytes so far."""
        return self._file.tell()

    def add(self, batches: list[Any], polled: int, positions: dict[str, str | None]) -> None:
        """Add the rows of records that were polled together, and the source positions after them."""
        for batch in batches:
            self._stream.write_batch(batch)
            self.rows += batch.num_rows
        self.polled += polled
        self._positions.update(positions)

    def seal(self) -> Segment:
        """Publish the segment durably."""
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
        """Delete the draft."""
        self._file.close()
        self._draft.unlink(missing_ok=True)


def described(store: SpoolStore, task: int, number: int, run: int) -> Segment | None:
    """Read the metadata of a segment; None if it does not exist; raises SpoolDamaged."""
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
            raise SpoolDamaged(f"{name!r} in {store.address!r} is not a complete segment")
        return Segment(task, number, run, **orjson.loads(end[-whole : -_LENGTH - len(_MARK)]))
    except (OSError, ValueError, TypeError) as error:
        raise SpoolDamaged(f"{name!r} in {store.address!r} cannot be read: {error}") from error


def batches_of(store: SpoolStore, name: str, schema: Any) -> Iterator[Any]:
    """Yield the stored batches of a segment; raises SpoolDamaged, also if they have another schema."""
    try:
        source = store.open(name)
    except OSError as error:
        raise SpoolDamaged(f"{name!r} in {store.address!r} cannot be read: {error}") from error
    stream = pa.ipc.open_stream(source)
    if stream.schema != schema:
        raise SpoolDamaged(
            f"{name!r} has the schema {stream.schema.to_string(show_field_metadata=False)!r}, expected "
            f"{schema.to_string(show_field_metadata=False)!r}",
            hint="read the spool with the .schema(...) that it was started with",
        )
    yield from stream
