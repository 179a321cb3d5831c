"""Segments of a spool: files of rows in Spark's types, with the positions up to which they were read from the source.

A segment is one file, so its rows and their positions are there together or not at all. It is an Arrow IPC stream, and
behind its end JSON, the length of that in eight bytes, and eight bytes that say that all of it is there. Nothing in it
ever changes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from hearth.foundation.user_file import sync_directory
from hearth_api import ConnectError

SUFFIX = ".arrow"
_MARK = b"HEARTHSP"
_LENGTH = 8


class SpoolDamaged(ConnectError):
    """A file of a spool is not what was written there."""

    code = "spool.damaged"
    hint = "restore the spool, or begin anew with an empty one and an empty checkpoint"


class Overtaken(ConnectError):
    """Another run of the same task has written the segment that was to come next: this one must end."""

    code = "spool.overtaken"


@dataclass(frozen=True)
class Segment:
    """What is known of a segment without reading its rows.

    ``run`` counts the starts of the read, ``polled`` the records it was made of, ``size`` the bytes of the file.
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

    def path(self, spool: Path) -> Path:
        """Return where it lies in a spool."""
        return segment_path(spool, self.task, self.number)


def segment_path(spool: Path, task: int, number: int) -> Path:
    """Return where a segment lies in a spool."""
    return folder_of(spool, task) / f"{number:012}{SUFFIX}"


def folder_of(spool: Path, task: int) -> Path:
    """Return where the segments of a task lie."""
    return spool / f"task-{task}"


class SegmentWriter:
    """Writes the next segment of a task; nobody sees it before it is sealed."""

    def __init__(self, spool: Path, task: int, number: int, run: int, schema: Any) -> None:
        self._spool, self.task, self.number, self._run = spool, task, number, run
        self._folder = folder_of(spool, task)
        if not self._folder.exists():
            self._folder.mkdir(exist_ok=True)
            sync_directory(spool)
        self._temporary = self._folder / f"{number:012}.{os.getpid()}.{run}.part"
        self._file = open(self._temporary, "wb")  # noqa: SIM115  (closed by seal, or drop)
        self._stream = pa.ipc.new_stream(self._file, schema)
        self.rows = self.polled = 0
        self._positions: dict[str, str | None] = {}

    def add(self, batches: list[Any], polled: int, positions: dict[str, str | None]) -> None:
        """Add what became of records that were polled together, and where their source stood behind them."""
        for batch in batches:
            self._stream.write_batch(batch)
            self.rows += batch.num_rows
        self.polled += polled
        self._positions.update(positions)

    def seal(self) -> Segment:
        """Have the segment there for all to see, durable; raises Overtaken where somebody else has written it."""
        self._stream.close()
        facts: dict[str, Any] = {
            "run": self._run,
            "rows": self.rows,
            "polled": self.polled,
            "positions": self._positions,
        }
        text = orjson.dumps(facts)
        self._file.write(text + len(text).to_bytes(_LENGTH, "little") + _MARK)
        segment = Segment(self.task, self.number, size=self._file.tell(), **facts)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        try:
            os.link(self._temporary, segment.path(self._spool))  # a rename would take the place of another's
        except FileExistsError:
            raise Overtaken(f"segment {self.number} of task {self.task} was written by another run") from None
        finally:
            self._temporary.unlink(missing_ok=True)
        sync_directory(self._folder)
        return segment

    def drop(self) -> None:
        """Leave nothing of it."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)


def described(path: Path, task: int) -> Segment:
    """Return what a file says of itself; raises SpoolDamaged."""
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _LENGTH - len(_MARK)))
            end = file.read()
            length = int.from_bytes(end[:_LENGTH], "little")
            if end[_LENGTH:] != _MARK or not 0 < length <= size - len(end):
                raise SpoolDamaged(f"{str(path)!r} is no whole segment of a spool")
            file.seek(size - len(end) - length)
            members = orjson.loads(file.read(length))
    except (OSError, ValueError) as error:
        raise SpoolDamaged(f"{str(path)!r} cannot be read: {error}") from error
    return Segment(task, int(path.stem), size=size, **members)


def batches_of(path: str, schema: Any) -> Iterator[Any]:
    """Yield the rows of a segment, from its own memory; raises SpoolDamaged, also where they are of another schema."""
    try:
        source = pa.memory_map(path)
    except OSError as error:
        raise SpoolDamaged(f"{path!r} cannot be read: {error}") from error
    stream = pa.ipc.open_stream(source)
    if stream.schema != schema:
        raise SpoolDamaged(
            f"{path!r} holds rows of {stream.schema.to_string(show_field_metadata=False)!r}, and is to be read as "
            f"{schema.to_string(show_field_metadata=False)!r}",
            hint="read the spool with the .schema(...) that it was begun with",
        )
    yield from stream
