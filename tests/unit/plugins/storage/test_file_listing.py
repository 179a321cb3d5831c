"""A hundred thousand files are listed beside the polls of a task, none of which waits for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hearth_api import OffsetStorageReader
from hearth_api.testing import MemorySourceTaskContext
from hearth_storage.source.file_position import FILE
from hearth_storage.source.source_task import FilesSourceTask
from hearth_storage.source.storage_source_task import LONGEST_POLL

IN_A_FOLDER = 1_000
LONGEST = LONGEST_POLL + 2.0
"""Seconds that a poll may take on a machine that does much else."""


@pytest.fixture
def count(request: pytest.FixtureRequest) -> int:
    """Provide the number of files."""
    return 100_000 if request.config.getoption("--long", default=False) else 5_000


@pytest.fixture
def folder(tmp_path: Path, count: int) -> Path:
    """Provide the files, a line each; they are links, which are made faster."""
    for start in range(0, count, IN_A_FOLDER):
        inner = tmp_path / f"{start:06}"
        inner.mkdir()
        first = inner / f"{0:04}.txt"
        first.write_text("x\n")
        for number in range(1, IN_A_FOLDER):
            os.link(first, inner / f"{number:04}.txt")
    return tmp_path


class EndedFiles(MemorySourceTaskContext, OffsetStorageReader):
    """A context in which files were read to their end."""

    def __init__(self, files: set[str]) -> None:
        super().__init__()
        self._files = files

    def offset_storage_reader(self) -> OffsetStorageReader:
        """Return itself."""
        return self

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the end of a file that was read."""
        return {"row": 1, "version": "", "end": True} if partition[FILE] in self._files else None

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return those of several files."""
        return [self.offset(each) for each in partitions]


@contextmanager
def reading(folder: Path, files: set[str] | None = None) -> Iterator[FilesSourceTask]:
    """Run a task of all files."""
    config = {"name": "in", "directory": str(folder), "mode": "GENERIC", "topics.dir": "",
              "file.poll.interval.ms": "100", "topic.regex.list": "t:.*"}  # fmt: skip
    task = FilesSourceTask()
    task.initialize(EndedFiles(files or set()))
    task.start(config)
    try:
        yield task
    finally:
        task.stop()


def polled(task: FilesSourceTask, rows: int) -> tuple[list[Any], float]:
    """Return the batches of so many rows, and the seconds of the longest poll."""
    found: list[Any] = []
    longest = 0.0
    while sum(each.num_rows for each in found) < rows:
        started = time.monotonic()
        found += task.poll_batch() or []
        longest = max(longest, time.monotonic() - started)
    return found, longest


def test_records_come_while_files_are_listed(folder: Path) -> None:
    """The first ones before the listing ends, and no poll waits for it."""
    with reading(folder) as task:
        _, first = polled(task, 1)
        assert not task._listing._is_complete
        _, longest = polled(task, 300)
        assert max(first, longest) < LONGEST


def test_a_new_file_is_found_behind_all_that_were_read(folder: Path, count: int) -> None:
    """After a start with their offsets, and again in a later listing; polls return in time."""
    files = {str(each.relative_to(folder)) for each in folder.rglob("*.txt")}
    assert len(files) == count
    (folder / "~new.txt").write_text("new\n")
    with reading(folder, files) as task:
        (found,), longest = polled(task, 1)
        assert found.column("value").to_pylist() == ["new"]
        (folder / "~newer.txt").write_text("newer\n")
        (found,), again = polled(task, 1)
        assert found.column("value").to_pylist() == ["newer"]
        assert max(longest, again) < LONGEST
