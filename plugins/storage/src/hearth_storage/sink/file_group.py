"""The files that a Kafka partition has open: all of them end together."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Schema, TopicPartition
from hearth_storage.format.format import FormatWriter

VALUE, KEY, HEADERS = "value", "key", "headers"


def last_kind(kinds: Iterable[str]) -> str:
    """Return which file of a record file is uploaded last, so that whoever finds it finds the others."""
    return sorted(kinds, key=lambda each: each == VALUE)[-1]


@dataclass
class PartFile:
    """One object of a record file on this machine: its values, its keys, or its headers.

    Its name in the store is known when the file ends.
    """

    local: Path
    out: Any
    writer: FormatWriter
    name: str = ""


@dataclass
class OpenFile:
    """A file that records go into, and the schemas of its columns.

    `first` and `last` are offsets; `waiting` is about how many bytes of its rows are not yet encoded. `stem` is its
    name without extension, set when the file ends.
    """

    schemas: Mapping[str, Schema | None]
    first: int
    last: int = -1
    stem: str = ""
    count: int = 0
    waiting: int = 0
    parts: dict[str, PartFile] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, str]:
        """Return what is kept beside the file in the store; tags of Confluent's sink have the same names."""
        return {"startOffset": str(self.first), "endOffset": str(self.last), "recordCount": str(self.count)}


@dataclass
class Chunk:
    """Rows for files: columns by name, and the number of its file for each row."""

    columns: pa.RecordBatch
    files: Any


@dataclass
class Run:
    """Rows sorted by file: those of file `numbers[i]` are from `starts[i]` to before `stops[i]`.

    `local` is a file of this machine that the columns are mapped from, None if they are in memory.
    """

    columns: pa.RecordBatch
    numbers: Any
    starts: Any
    stops: Any
    local: Path | None = None

    @classmethod
    def of(cls, chunks: list[Chunk]) -> Run:
        """Sort the rows of chunks of one type, those of a file in their order."""
        numbers = np.concatenate([chunk.files for chunk in chunks])
        columns = combined([chunk.columns for chunk in chunks])
        if (numbers[1:] < numbers[:-1]).any():
            order = np.argsort(numbers, kind="stable")
            columns, numbers = columns.take(pa.array(order)), numbers[order]
        found, starts = np.unique(numbers, return_index=True)
        return cls(columns, found, starts, np.append(starts[1:], len(numbers)))

    def rows_of(self, number: int) -> pa.RecordBatch | None:
        """Return the rows of a file, None if it has none."""
        place = int(np.searchsorted(self.numbers, number))
        if place == len(self.numbers) or self.numbers[place] != number:
            return None
        start = int(self.starts[place])
        return self.columns.slice(start, int(self.stops[place]) - start)

    def without(self, numbers: Any) -> Run:
        """Return the run in which some files have no rows."""
        keep = ~np.isin(self.numbers, numbers)
        return Run(self.columns, self.numbers[keep], self.starts[keep], self.stops[keep], self.local)

    def mapped(self) -> Run:
        """Return the run with its columns mapped anew, so that what was read of them leaves the memory."""
        if self.local is None:
            return self
        columns = pa.ipc.open_file(pa.memory_map(str(self.local))).get_batch(0)
        return Run(columns, self.numbers, self.starts, self.stops, self.local)


def combined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return batches of one type as a single one."""
    return batches[0] if len(batches) == 1 else pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


@dataclass
class Claim:
    """One assignment of a partition to this task; once it is lost, no upload of its files begins.

    `ended` and `uploading` count the groups of files that have ended, and those of them that the uploads have. `token`
    tells it from all other assignments of the partition.
    """

    partition: TopicPartition
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    is_lost: bool = False
    ended: int = 0
    uploading: int = 0


@dataclass
class FileGroup:
    """The open files of a Kafka partition, and rows for them that no file has yet.

    `numbers` has those of files by topic and path; `lasts` and `counts` have last offsets and rows by number. `end` is
    the offset to commit once all files are in the store. `renames` maps temporary names in the store to those that the
    files get together, where the store can rename.
    """

    claim: Claim
    files: list[OpenFile] = field(default_factory=list)
    numbers: dict[str, dict[str, int]] = field(default_factory=dict)
    lasts: Any = field(default_factory=lambda: np.zeros(0, np.int64))
    counts: Any = field(default_factory=lambda: np.zeros(0, np.int64))
    tail: list[Chunk] = field(default_factory=list)
    tail_size: int = 0
    runs: list[Run] = field(default_factory=list)
    end: int = -1
    found_existing: bool = False
    renames: dict[str, str] = field(default_factory=dict)

    @property
    def is_abandoned(self) -> bool:
        """Return whether the task has lost the partition."""
        return self.claim.is_lost

    def numbers_of(self, topic: str, paths: list[str]) -> Any:
        """Return the number of each path's file, -1 where it has none."""
        known = self.numbers.setdefault(topic, {})
        return np.array([known.get(path, -1) for path in paths], np.int32)

    def open(self, topic: str, path: str, file: OpenFile) -> int:
        """Take over a path's file and return its number."""
        number = self.numbers[topic][path] = len(self.files)
        self.files.append(file)
        return number

    def note(self, numbers: Any, lasts: Any, counts: Any) -> None:
        """Count rows of files, each of which is named once."""
        room = len(self.files) - len(self.counts)
        if room > 0:
            more = np.zeros(room + len(self.counts), np.int64)  # twice as many: a file at a time would be quadratic
            self.lasts, self.counts = np.append(self.lasts, more), np.append(self.counts, more)
        self.lasts[numbers] = lasts
        self.counts[numbers] += counts

    def end_at(self, offset: int) -> None:
        """Set the offset to commit, and what is kept beside each file."""
        self.end = offset
        for file, last, count in zip(self.files, self.lasts.tolist(), self.counts.tolist()):
            file.last, file.count = last, count

    def add(self, columns: pa.RecordBatch, files: Any) -> None:
        """Add rows; their buffers are shared with what they were sliced from."""
        self.tail.append(Chunk(columns, files))
        self.tail_size += columns.nbytes

    def take_tail(self) -> list[Chunk]:
        """Return the rows that no file has, and forget them."""
        tail, self.tail, self.tail_size = self.tail, [], 0
        return tail


def forget_runs(group: FileGroup) -> None:
    """Delete the rows that a group keeps on this machine."""
    for run in group.runs:
        if run.local is not None:
            run.local.unlink(missing_ok=True)
    group.runs.clear()


def discard(group: FileGroup) -> None:
    """Delete all that a group has on this machine."""
    forget_runs(group)
    for file in group.files:
        for part in file.parts.values():
            part.out.close()
            part.local.unlink(missing_ok=True)
