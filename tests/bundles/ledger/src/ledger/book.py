"""The book of one run of a task: a file that only it writes, one line for each thing that happened."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A record: where it was read, and the number it carries."""

    topic: str
    partition: int
    offset: int
    number: int


class Book:
    """Appends lines to a file whose name tells connector, task, the run's start and its process.

    The lines of one call are one write, which the kernel has when the call returns: a kill right after it takes
    nothing back.
    """

    def __init__(self, folder: str, connector: str, task: str) -> None:
        self.run = f"{time.time_ns()}-{os.getpid()}"
        path = Path(folder) / f"{connector}-{task}-{self.run}.book"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.note("start")

    def note(self, *words: object) -> None:
        """Write one line: what happened, when, and the rest."""
        self._write([words])

    def enter(self, word: str, entries: Iterable[Entry]) -> None:
        """Write down records in their order; those that follow each other in a partition share a line."""
        self._write([(word, *first, count) for first, count in _runs(entries)])

    def close(self) -> None:
        """Write that the run ended in order."""
        self.note("stop")
        os.close(self._file)

    def _write(self, lines: list[tuple[object, ...]]) -> None:
        now = time.time_ns()
        data = "".join(f"{' '.join(map(str, (word, now, *rest)))}\n" for word, *rest in lines).encode()
        if data and os.write(self._file, data) != len(data):
            raise OSError("the book was not written whole")


def _runs(entries: Iterable[Entry]) -> Iterator[tuple[Entry, int]]:
    """Yield the first of records whose offsets and numbers go up by one, and how many they are."""
    first, count = None, 0
    for entry in entries:
        if first is not None and entry == first._replace(offset=first.offset + count, number=first.number + count):
            count += 1
            continue
        if first is not None:
            yield first, count
        first, count = entry, 1
    if first is not None:
        yield first, count
