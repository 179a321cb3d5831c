"""The book of one run of a task: a file that only this run writes, one line for each event."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A record: its topic, partition and offset, and its number."""

    topic: str
    partition: int
    offset: int
    number: int


class Book:
    """Appends lines to a file whose name has the connector, task, start time and process.

    The lines of one call are one write, which the kernel has when the call returns: a kill right after it loses
    nothing.
    """

    def __init__(self, folder: str, connector: str, task: str) -> None:
        self.run = f"{time.time_ns()}-{os.getpid()}"
        path = Path(folder) / f"{connector}-{task}-{self.run}.book"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.note("start")

    def note(self, *words: object) -> None:
        """Write one line: the event, its time, and the arguments."""
        self._write([words])

    def enter(self, word: str, entries: Iterable[Entry]) -> None:
        """Book records in order; consecutive ones of a partition share a line."""
        self._write([(word, *first, count) for first, count in _runs(entries)])

    def close(self) -> None:
        """Book that the run stopped in order."""
        self.note("stop")
        os.close(self._file)

    def _write(self, lines: list[tuple[object, ...]]) -> None:
        now = time.time_ns()
        data = "".join(f"{' '.join(map(str, (word, now, *rest)))}\n" for word, *rest in lines).encode()
        if data and os.write(self._file, data) != len(data):
            raise OSError("the book was not written completely")


def _runs(entries: Iterable[Entry]) -> Iterator[tuple[Entry, int]]:
    """Yield the first of consecutive records, and their number."""
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
