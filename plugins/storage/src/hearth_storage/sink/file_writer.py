"""Writes rows to files of this machine, in a thread of its own, and hands complete files to the uploads."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Condition
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_storage.format.format import FileFormat
from hearth_storage.sink.file_group import Chunk, FileGroup, OpenFile, PartFile, Run, combined, discard, forget_runs
from hearth_storage.sink.upload import Uploads

DIRECT_SIZE = 4 * 1024 * 1024
"""Bytes of a file's rows from which they are encoded at once; fewer wait on disk as columns, for the file's end."""
_MAPPED = 32
"""Files after which columns on the disk are mapped anew."""
_SUFFIX = {"value": "", "key": ".keys", "headers": ".headers"}


class FileWriter:
    """Encodes the rows of open files.

    Rows of many files wait as columns, sorted by file, in a few files of this machine's disk: memory and open files do
    not grow with the number of files that a partitioner makes.
    """

    def __init__(self, formats: Mapping[str, FileFormat], uploads: Uploads) -> None:
        """`formats` has one for each of the columns value, key and headers that are written."""
        self._formats = formats
        self._uploads = uploads
        self._folder = TemporaryDirectory(prefix="hearth-storage-", ignore_cleanup_errors=True)
        self._names = itertools.count()
        self._pool = ThreadPoolExecutor(1, "files")
        self._changed = Condition()
        self._waiting = 0
        self._failure: BaseException | None = None

    def name(self, stem: str, kind: str) -> str:
        """Return the whole name of a file: `topics/t/partition=0/t+0+0000000000.keys.avro`."""
        return stem + _SUFFIX[kind] + self._formats[kind].extension

    def store(self, group: FileGroup, chunks: list[Chunk], size: int) -> None:
        """Encode rows, or keep them on disk."""
        self._submit(size, self._store, group, chunks)

    def finish(self, group: FileGroup, chunks: list[Chunk], size: int) -> None:
        """Complete the files of a group with its last rows, and hand them to the uploads."""
        self._submit(size, self._finish, group, chunks)

    def wait(self, most: int, seconds: float) -> bool:
        """Wait until at most so many bytes wait; return whether that came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self._waiting <= most or self._failure is not None, seconds)

    def check(self) -> None:
        """Raise what the thread failed of."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> None:
        """End the thread and delete its files."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._folder.cleanup()

    def _submit(self, size: int, work: Any, group: FileGroup, chunks: list[Chunk]) -> None:
        with self._changed:
            self._waiting += size
        self._pool.submit(self._run, size, work, group, chunks)

    def _run(self, size: int, work: Any, group: FileGroup, chunks: list[Chunk]) -> None:
        try:
            if self._failure is None and not group.is_abandoned:
                work(group, chunks)
        except BaseException as error:  # noqa: BLE001 - it is raised by the next call of the task
            if not group.is_abandoned:
                self._failure = error
        finally:
            if group.is_abandoned:
                discard(group)
            with self._changed:
                self._waiting -= size
                self._changed.notify_all()

    def _store(self, group: FileGroup, chunks: list[Chunk]) -> None:
        for run in _runs(chunks):
            row_size = run.columns.nbytes / len(run.columns)
            for number, rows in zip(run.numbers, run.stops - run.starts):
                group.files[number].waiting += int(rows * row_size)
            large = [number for number in run.numbers if group.files[number].waiting >= DIRECT_SIZE]
            group.runs.append(run)
            for number in large:
                self._write(group, number)
            group.runs = [self._kept(rest) for each in group.runs if len((rest := each.without(large)).numbers)]

    def _finish(self, group: FileGroup, chunks: list[Chunk]) -> None:
        group.runs.extend(_runs(chunks))
        for number, file in enumerate(group.files):
            self._write(group, number)
            for kind, part in file.parts.items():
                part.name = self.name(file.stem, kind)
                part.writer.close()
                part.out.close()
            if number % _MAPPED == _MAPPED - 1:
                group.runs = [run.mapped() for run in group.runs]
        self._uploads.add(group)
        forget_runs(group)

    def _write(self, group: FileGroup, number: int) -> None:
        """Write the rows that runs have of a file, in their order."""
        found = [rows for run in group.runs if (rows := run.rows_of(number)) is not None]
        if not found:
            return
        file = group.files[number]
        file.waiting = 0
        columns = combined(found)
        for kind in columns.schema.names:
            self._part(file, kind).writer.write(columns.column(kind))

    def _part(self, file: OpenFile, kind: str) -> PartFile:
        part = file.parts.get(kind)
        if part is None:
            format_ = self._formats[kind]
            local = self._new_path()
            out = local.open("wb")
            part = file.parts[kind] = PartFile(local, out, format_.writer(out, file.schemas[kind]))
        return part

    def _kept(self, run: Run) -> Run:
        """Move a run to the disk; a slice of it is read when it is used."""
        if run.local is not None:
            return run
        local = self._new_path()
        rest = run.columns.take(pa.array(np.concatenate([np.arange(*each) for each in zip(run.starts, run.stops)])))
        widths = run.stops - run.starts
        stops = np.cumsum(widths)
        with pa.OSFile(str(local), "wb") as out, pa.ipc.new_file(out, rest.schema) as writer:
            writer.write_batch(rest)
        return Run(rest, run.numbers, stops - widths, stops, local).mapped()

    def _new_path(self) -> Path:
        return Path(self._folder.name, str(next(self._names)))


def _runs(chunks: Sequence[Chunk]) -> list[Run]:
    """Return chunks as runs, one of each type of columns in a row."""
    found: list[Run] = []
    same: list[Chunk] = []
    for chunk in chunks:
        if same and same[0].columns.schema != chunk.columns.schema:
            found.append(Run.of(same))
            same = []
        same.append(chunk)
    return [*found, Run.of(same)] if same else found
