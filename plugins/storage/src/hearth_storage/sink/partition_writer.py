"""Where the records of a Kafka partition go: rows into open files, files to the store."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import ConnectError, RetriableError, Schema, TopicPartition
from hearth_storage.place.place import Entry, Place
from hearth_storage.sink.file_group import VALUE, Claim, FileGroup, OpenFile, last_kind
from hearth_storage.sink.file_writer import FileWriter
from hearth_storage.sink.rotation import Progress, Rotation, Rows
from hearth_storage.sink.schema_compatibility import SchemaCompatibility, projected
from hearth_storage.sink.upload import end_of

LOOK_UP_SECONDS = 120.0
"""How long a store may not answer when files are looked up, before the task fails."""
_PAUSE = 0.5
_log = logging.getLogger(__name__)


@dataclass
class Part:
    """Records of one Kafka partition and of one schema for each column, with all that is known before they are put."""

    partition: TopicPartition
    topic: str
    offsets: Any
    rows: Rows
    schemas: Mapping[str, Schema | None]
    columns: Mapping[str, Any]


class PartitionWriter:
    """Puts the records of a Kafka partition into files.

    After an assignment, files may exist beyond the committed offset, from a task that ended before it could commit.
    Until a group of files meets none, each new name is looked up, and records that such a file has are passed over:
    also if the limits of files have changed since.
    """

    def __init__(
        self, claim: Claim, place: Place, writer: FileWriter, name: Any, rotation: Rotation, rule: SchemaCompatibility
    ) -> None:
        """`name` makes a file's name, without extension, of topic, directory and first offset."""
        self._claim = claim
        self._place = place
        self._writer = writer
        self._name = name
        self._rotation = rotation
        self._rule = rule
        self._ends: dict[tuple[str, str], int] = {}
        self._looks_up = True
        self._next_by_clock: int | None = None
        self._begin()

    @property
    def group(self) -> FileGroup:
        """Return the open files."""
        return self._group

    @property
    def pending(self) -> int:
        """Return how many groups of files have ended, but are not with the uploads yet."""
        return self._claim.ended - self._claim.uploading

    @property
    def is_empty(self) -> bool:
        """Return whether no record waits for its file to end."""
        return self._progress.count == 0

    def check_clock(self, now: int) -> None:
        """End the files if their time by the clock is over; `now` is in ms."""
        if self._rotation.schedule <= 0:
            return
        if self._next_by_clock is not None and now >= self._next_by_clock:
            self._next_by_clock = None
            if not self.is_empty:
                self._end()
        if self._next_by_clock is None:
            self._next_by_clock = self._rotation.next_by_clock(now)

    def put(self, part: Part, pool: Executor) -> None:
        """Add records; files end where the rotation says so. `pool` looks up names."""
        start, rows = 0, part.rows
        while start < len(part.offsets):
            stale = self._stale(part)
            stop, ends = self._progress.cut(rows, start, stale, self._rotation)
            if stop > start:
                self._progress.add(rows, start, stop)
                self._add(part, start, stop, pool)
                self._last = int(part.offsets[stop - 1])
            if ends:
                self._end()
            start = stop

    def flush_tail(self) -> None:
        """Hand the rows that wait in memory to the writer."""
        size = self._group.tail_size
        self._writer.store(self._group, self._group.take_tail(), size)

    def _begin(self) -> None:
        self._group = FileGroup(self._claim)
        self._progress = Progress()
        self._schemas: dict[str, tuple[Any, Any]] = {}
        self._last = -1

    def _end(self) -> None:
        group = self._group
        group.end = self._last + 1
        if not group.found_existing:
            self._looks_up = False
            self._ends.clear()
        self._claim.ended += 1
        size = group.tail_size
        self._writer.finish(group, group.take_tail(), size)
        self._begin()

    def _stale(self, part: Part) -> dict[str, bool]:
        """Return the paths whose open file does not fit the schemas of the records."""
        found = {}
        for path in part.rows.paths:
            if path in self._schemas:
                value, others = self._schemas[path]
                fits = self._rule.fits(part.schemas.get(VALUE), value) if VALUE in part.schemas else True
                found[path] = not fits or others != _others(part)
        return found

    def _add(self, part: Part, start: int, stop: int, pool: Executor) -> None:
        codes = part.rows.codes[start:stop]
        targets = self._targets(part, np.unique(codes))
        for schema, numbers in targets:
            rows = slice(None) if len(targets) == 1 else np.isin(codes, numbers).nonzero()[0]
            self._add_rows(part, np.arange(start, stop)[rows], schema, pool)

    def _targets(self, part: Part, codes: Any) -> list[tuple[Any, list[int]]]:
        """Return the codes of paths by the schema of their file, which the path's first records decide."""
        found: list[tuple[Any, list[int]]] = []
        for code in codes:
            schema, _ = self._schemas.setdefault(part.rows.paths[code], (part.schemas.get(VALUE), _others(part)))
            same = next((numbers for other, numbers in found if other is schema or other == schema), None)
            if same is None:
                found.append((schema, [int(code)]))
            else:
                same.append(int(code))
        return found

    def _add_rows(self, part: Part, rows: Any, schema: Schema | None, pool: Executor) -> None:
        if self._looks_up:
            rows = self._unwritten(part, rows, pool)
            if not len(rows):
                return
        codes, offsets = part.rows.codes[rows], part.offsets[rows]
        found, first, counts = np.unique(codes, return_index=True, return_counts=True)
        last = len(codes) - 1 - np.unique(codes[::-1], return_index=True)[1]
        schemas = {**part.schemas, VALUE: schema} if VALUE in part.schemas else part.schemas
        numbers = np.zeros(len(part.rows.paths), np.int32)
        for code, at, until, count in zip(found, first, last, counts):
            number = numbers[code] = self._file(part, part.rows.paths[code], int(offsets[at]), schemas)
            file = self._group.files[number]
            file.last, file.count = int(offsets[until]), file.count + int(count)
        self._group.add(_taken(part, rows, schema), numbers[codes])

    def _file(self, part: Part, path: str, first: int, schemas: Mapping[str, Schema | None]) -> int:
        """Return the number of a path's file, a new one if it has none."""
        key = (part.topic, path)
        number = self._group.numbers.get(key)
        if number is None:
            number = self._group.numbers[key] = len(self._group.files)
            self._group.files.append(OpenFile(self._name(part.topic, path, first), schemas, first))
        return number

    def _unwritten(self, part: Part, rows: Any, pool: Executor) -> Any:
        """Return the rows that no file in the store has; such a file begins with the first of its rows."""
        while True:
            codes, offsets = part.rows.codes[rows], part.offsets[rows]
            ends = np.array([self._ends.get((part.topic, path), -1) for path in part.rows.paths], np.int64)
            is_late = offsets > ends[codes]
            if not is_late.all():
                self._group.found_existing = True
                rows, codes, offsets = rows[is_late], codes[is_late], offsets[is_late]
            found, first = np.unique(codes, return_index=True)
            paths = [(part.rows.paths[code], int(offsets[at])) for code, at in zip(found, first)]
            new = [(path, at) for path, at in paths if (part.topic, path) not in self._group.numbers]
            if not any(list(pool.map(lambda each: self._look_up(part, *each), new))):
                return rows

    def _look_up(self, part: Part, path: str, first: int) -> bool:
        """Note how far the file that begins with an offset goes; return whether there is one that tells it."""
        name = self._writer.name(self._name(part.topic, path, first), last_kind(part.columns))
        entry = self._found(name)
        end = None if entry is None else end_of(entry.facts)
        if end is None or end < first:
            return False
        self._ends[part.topic, path] = end
        return True

    def _found(self, name: str) -> Entry | None:
        """Return the facts of a file; a store that does not answer is asked again for some time."""
        deadline = time.monotonic() + LOOK_UP_SECONDS
        while True:
            try:
                return self._place.head(name)
            except RetriableError as error:
                if time.monotonic() > deadline:
                    raise ConnectError(str(error), hint=error.hint) from error
                _log.warning("%s is not looked up yet, and tried again: %s", name, error)
                time.sleep(_PAUSE)


def _others(part: Part) -> tuple[Any, ...]:
    """Return the schemas that are not the value's, and whether there are values."""
    return tuple(schema for kind, schema in part.schemas.items() if kind != VALUE), VALUE in part.schemas


def _taken(part: Part, rows: Any, schema: Schema | None) -> pa.RecordBatch:
    """Return rows of the columns, the values projected to the schema of their file."""
    is_slice = len(rows) == rows[-1] - rows[0] + 1
    columns = {}
    for kind, column in part.columns.items():
        taken = column.slice(int(rows[0]), len(rows)) if is_slice else column.take(pa.array(rows))
        own = part.schemas[kind]
        if kind == VALUE and own is not None and schema is not None and own is not schema:
            taken = projected(own, taken, schema)
        columns[kind] = taken
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
