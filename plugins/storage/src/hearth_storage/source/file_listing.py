"""Lists the files of a place beside the polls of a task, and holds those that are to be read, in their order."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hearth_api import ConnectError
from hearth_storage.place.place import Entry, Place
from hearth_storage.source.file_position import Position, partition_of
from hearth_storage.source.source_setting import RESTORE, StorageSourceConfig
from hearth_storage.source.stored_file import FileNames, StoredFile

MOST_WAITING = 10_000
"""Files that wait to be read, at which the listing pauses."""
_log = logging.getLogger(__name__)
Stored = Callable[[list[dict[str, Any]]], Sequence["dict[str, Any] | None"]]


@dataclass(frozen=True)
class Unread:
    """A file that is to be read from a row on."""

    file: StoredFile
    start: int


class FileListing:
    """Finds new and changed files of a task's share, page by page, and again after each interval.

    The stored offsets of a page are looked up in one request, so files of the first page are read while the others are
    listed. An error is raised by the next call of `take`, and the listing starts again after it.
    """

    def __init__(self, settings: StorageSourceConfig, place: Place, share: tuple[int, int], stored: Stored) -> None:
        """`share` is the number of the task and how many there are, `stored` looks up offsets."""
        self._settings = settings
        self._names = FileNames(settings)
        self._place = place
        self._number, self._count = share
        self._stored = stored
        self._known: dict[str, Position] = {}
        self._unfinished: set[str] = set()
        self._waiting: deque[Unread] = deque()
        self._error: ConnectError | None = None
        self._is_complete = self._is_stopped = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name="listing", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which may be within a request."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def take(self, timeout: float) -> Unread | None:
        """Return the next file, None if there is none within the seconds; raise what the listing failed with."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._error or self._is_stopped, timeout)
            if self._waiting:
                taken = self._waiting.popleft()
                self._changed.notify_all()
                return taken
            error, self._error = self._error, None
        if error is not None:
            raise error
        return None

    def finish(self, file: StoredFile, row: int) -> None:
        """Note that a file was read to its end, after so many rows."""
        with self._changed:
            self._unfinished.discard(file.name)
            self._known[file.name] = Position(row, file.version, is_end=True)

    @property
    def is_complete(self) -> bool:
        """Return whether all files were listed once, and none of them waits."""
        with self._changed:
            return self._is_complete and not self._waiting and not self._unfinished

    def _run(self) -> None:
        while not self._is_stopped:
            try:
                self._list()
            except ConnectError as error:
                with self._changed:
                    self._error = error
                    self._changed.notify_all()
            with self._changed:
                self._changed.wait_for(lambda: self._is_stopped, self._settings.poll_interval)

    def _list(self) -> None:
        seen: set[str] = set()
        for prefix in self._settings.prefixes:
            for entries in self._groups(prefix):
                files = [file for file in self._names.files(entries) if self._is_own(file)]
                seen.update(file.name for file in files)
                self._add(self._unread(files))
                if self._is_stopped:
                    return
        with self._changed:
            self._known = {name: position for name, position in self._known.items() if name in seen}
            self._is_complete = True
            self._changed.notify_all()

    def _is_own(self, file: StoredFile) -> bool:
        entry = file.value or file.key
        is_new = entry is not None and entry.changed >= self._settings.starting_timestamp
        return is_new and file.share(self._count) == self._number

    def _groups(self, prefix: str) -> Iterator[list[Entry]]:
        """Yield the entries of a directory, or of a page where the order of names is the order to read in."""
        waiting: list[Entry] = []
        for page in self._place.list(prefix):
            for entry in page:
                if waiting and _directory(entry) != _directory(waiting[-1]):
                    yield waiting
                    waiting = []
                waiting.append(entry)
            ready, waiting = self._split(waiting)
            if ready:
                yield ready
        if waiting:
            yield waiting

    def _split(self, entries: list[Entry]) -> tuple[list[Entry], list[Entry]]:
        """Return the entries that may be read before the next page, and those that wait for it."""
        if self._settings.mode != RESTORE:
            return entries, []
        names = [file.name for file in self._names.files(entries)]  # in the order of partitions and offsets
        if names != sorted(names) or not entries:
            return [], entries
        stem = self._names.stem(entries[-1])
        kept = next(number for number, each in enumerate(entries) if self._names.stem(each) == stem)
        return entries[:kept], entries[kept:]

    def _unread(self, files: list[StoredFile]) -> list[Unread]:
        with self._changed:
            new = [file for file in files if file.name not in self._known and file.name not in self._unfinished]
        offsets = self._stored([partition_of(self._place.address, file.name) for file in new]) if new else []
        read = {file.name: Position.of(offset) for file, offset in zip(new, offsets) if offset is not None}
        found = []
        with self._changed:
            for file in files:
                position = self._known.get(file.name) or read.get(file.name)
                if file.name in self._unfinished:
                    continue
                start = 0 if position is None else position.next_row(file.version, self._settings.behavior_on_change)
                if start is not None:
                    self._unfinished.add(file.name)
                    found.append(Unread(file, start))
                    continue
                assert position is not None
                if position.version not in ("", file.version):
                    _log.warning("%s has changed since it was read; behavior.on.change=append or reread reads it"
                                 " again", file.name)  # fmt: skip
                self._known[file.name] = Position(position.row, file.version, is_end=True)
        return found

    def _add(self, found: list[Unread]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < MOST_WAITING or self._is_stopped)
            self._waiting.extend(found)
            self._changed.notify_all()


def _directory(entry: Entry) -> str:
    return entry.name.rpartition("/")[0]
