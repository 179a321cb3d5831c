"""Where the records of a Kafka partition go: rows into open files, files to the store."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hearth_api import Schema, TopicPartition
from hearth_storage.place.place import Place
from hearth_storage.sink.file_delivery import end_of, insist
from hearth_storage.sink.file_group import VALUE, Claim, FileGroup, OpenFile, last_kind
from hearth_storage.sink.file_writer import FileWriter
from hearth_storage.sink.rotation import Progress, Rotation, Rows
from hearth_storage.sink.schema_compatibility import SchemaCompatibility, projected


@dataclass
class Part:
    """Records of one Kafka partition and of one schema for each column, with all that is known before they are put."""

    partition: TopicPartition
    topic: str
    offsets: Any
    rows: Rows
    schemas: Mapping[str, Schema | None]
    columns: Mapping[str, Any]


class Shape(NamedTuple):
    """The schemas of records, which are those of their file, and whether they have values."""

    value: Schema | None
    has_value: bool
    others: tuple[Schema | None, ...]


class PartitionWriter:
    """Puts the records of a Kafka partition into files.

    After an assignment, files may exist beyond the committed offset, from a task that ended before it could commit.
    Until a group of files meets none, each new name is looked up, and records that such a file has are passed over:
    also if the limits of files have changed since. A place that recovers offsets by itself needs no such look-up.
    """

    def __init__(
        self,
        claim: Claim,
        place: Place | None,
        writer: FileWriter,
        name: Any,
        rotation: Rotation,
        rule: SchemaCompatibility,
    ) -> None:
        """`name` makes a file's name, without extension, of topic, directory, first and last offset.

        Names are looked up in `place`, unless it is None.
        """
        self._claim = claim
        self._place = place
        self._writer = writer
        self._name = name
        self._rotation = rotation
        self._rule = rule
        self._ends: dict[tuple[str, str], int] = {}
        self._looks_up = place is not None
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
        self._shapes: list[Shape] = []
        self._shape_of: dict[str, int] = {}
        self._last = -1

    def _end(self) -> None:
        group = self._group
        group.end_at(self._last + 1)
        for topic, numbers in group.numbers.items():
            for path, number in numbers.items():
                file = group.files[number]
                file.stem = self._name(topic, path, file.first, file.last)
        if not group.found_existing:
            self._looks_up = False
            self._ends.clear()
        self._claim.ended += 1
        size = group.tail_size
        self._writer.finish(group, group.take_tail(), size)
        self._begin()

    def _stale(self, part: Part) -> Any:
        """Return for each path whether its open file does not fit the schemas of the records, None if all fit."""
        shapes = self._shapes_of(part)
        own = _shape(part)
        stale = [number for number in set(shapes.tolist()) if number >= 0 and not self._fits(own, number)]
        return np.isin(shapes, stale) if stale else None

    def _fits(self, own: Shape, number: int) -> bool:
        current = self._shapes[number]
        fits = not own.has_value or self._rule.fits(own.value, current.value)
        return fits and (own.others, own.has_value) == (current.others, current.has_value)

    def _shapes_of(self, part: Part) -> Any:
        """Return the number of the shape of each path's file, -1 for none."""
        known = self._shape_of
        return np.array([known.get(path, -1) for path in part.rows.paths], np.int32)

    def _add(self, part: Part, start: int, stop: int, pool: Executor) -> None:
        """Add rows; the first records of a path decide the schemas of its file."""
        codes, shapes = part.rows.codes[start:stop], self._shapes_of(part)
        own = _shape(part)
        if own not in self._shapes:
            self._shapes.append(own)
        number = self._shapes.index(own)
        for code in np.flatnonzero((shapes < 0) & (_counts(codes, part) > 0)).tolist():
            shapes[code] = self._shape_of[part.rows.paths[code]] = number
        found = shapes[codes]
        for number in set(found.tolist()):
            rows = np.flatnonzero(found == number) + start
            self._add_rows(part, rows, self._shapes[number].value, pool)

    def _add_rows(self, part: Part, rows: Any, schema: Schema | None, pool: Executor) -> None:
        numbers = self._group.numbers_of(part.topic, part.rows.paths)
        if self._looks_up:
            rows = self._unwritten(part, rows, numbers, pool)
            if not len(rows):
                return
        codes, offsets = part.rows.codes[rows], part.offsets[rows]
        counts = _counts(codes, part)
        schemas = {**part.schemas, VALUE: schema} if VALUE in part.schemas else part.schemas
        for code, first in _firsts(codes, offsets, (numbers < 0) & (counts > 0)):
            numbers[code] = self._group.open(part.topic, part.rows.paths[code], OpenFile(schemas, first))
        lasts = np.zeros(len(counts), np.int64)
        lasts[codes] = offsets
        used = np.flatnonzero(counts)
        self._group.note(numbers[used], lasts[used], counts[used])
        self._group.add(_taken(part, rows, schema), numbers[codes])

    def _unwritten(self, part: Part, rows: Any, numbers: Any, pool: Executor) -> Any:
        """Return the rows that no file in the store has; such a file begins with the first of its rows."""
        while True:
            codes, offsets = part.rows.codes[rows], part.offsets[rows]
            if self._ends:
                ends = np.array([self._ends.get((part.topic, path), -1) for path in part.rows.paths], np.int64)
                is_late = offsets > ends[codes]
                if not is_late.all():
                    self._group.found_existing = True
                    rows, codes, offsets = rows[is_late], codes[is_late], offsets[is_late]
            new = _firsts(codes, offsets, (numbers < 0) & (_counts(codes, part) > 0))
            if not any(list(pool.map(lambda each: self._look_up(part, part.rows.paths[each[0]], each[1]), new))):
                return rows

    def _look_up(self, part: Part, path: str, first: int) -> bool:
        """Note how far the file that begins with an offset goes; return whether there is one that tells it."""
        name = self._writer.name(self._name(part.topic, path, first, -1), last_kind(part.columns))
        assert self._place is not None
        entry = insist(name, self._place.head, name)
        end = None if entry is None else end_of(entry.facts)
        if end is None or end < first:
            return False
        self._ends[part.topic, path] = end
        return True


def _shape(part: Part) -> Shape:
    others = tuple(schema for kind, schema in part.schemas.items() if kind != VALUE)
    return Shape(part.schemas.get(VALUE), VALUE in part.schemas, others)


def _counts(codes: Any, part: Part) -> Any:
    """Return how many of the rows each path of the part has."""
    return np.bincount(codes, minlength=len(part.rows.paths))


def _firsts(codes: Any, offsets: Any, wanted: Any) -> list[tuple[int, int]]:
    """Return the codes that are wanted, each with the offset of its first row."""
    firsts = np.zeros(len(wanted), np.int64)
    firsts[codes[::-1]] = offsets[::-1]
    numbers = np.flatnonzero(wanted)
    return list(zip(numbers.tolist(), firsts[numbers].tolist()))


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
