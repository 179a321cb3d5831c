"""Dead letters: rows that a sink could not process, in a directory of JSON lines files, one per partition of a batch.

``spark.read.json(directory)`` reads them. A file appears as a whole or not at all. Its name is the same when the same
partition of the same batch is written again, so a replay replaces what it repeats.
"""

from __future__ import annotations

import contextlib
import os
import threading
import uuid
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import orjson
from pyarrow import fs

from hearth.datasource.written_row import WrittenRow
from hearth_api import ConnectError
from hearth_execution.failure import Failure


class DeadLetterPathRefused(ConnectError):
    """Dead letters cannot be written: the write fails, because their rows would be lost."""

    code = "datasource.dead_letters"
    hint = "make the directory of hearth.dead.letters writable on every executor, or set another one"


def absolute(folder: str) -> str:
    """Return the absolute path of a directory; an address is unchanged."""
    return folder if "://" in folder else str(Path(folder).absolute())


class DeadLetterFile:
    """Writes the failed rows of one partition of a batch; ``report`` may be called from any thread."""

    is_full = False
    """Always False: a dead letter is written when it is reported, so none are pending."""

    def __init__(self, folder: str, batch_id: int, partition: int) -> None:
        self._folder = folder
        self._name = f"{batch_id:011d}-{partition:05d}.json"
        self._draft = f".{self._name}.{uuid.uuid4().hex}"
        self._lock = threading.Lock()
        self._stream: Any = None
        self.count = 0
        """The number of dead letters."""

    def report(self, failure: Failure, record: WrittenRow) -> Future[None]:
        """Write a row; returns a completed future, with an error if the row could not be written."""
        done: Future[None] = Future()
        line = orjson.dumps(record.letter(failure)) + b"\n"
        try:
            with self._lock:
                self._opened().write(line)
                self.count += 1
        except (OSError, ValueError) as error:
            done.set_exception(self._refused(error))
        else:
            done.set_result(None)
        return done

    def commit(self) -> None:
        """Move the file durably to its final name; without dead letters, delete the file of an earlier attempt."""
        try:
            with self._lock:
                system, root = self._place()
                place = f"{root}/{self._name}"
                if self._stream is None:
                    if system.get_file_info(place).type is fs.FileType.File:
                        system.delete_file(place)
                    return
                self._stream.close()
                draft = f"{root}/{self._draft}"
                _sync(system, draft)
                system.move(draft, place)
                _sync(system, root)
        except (OSError, ValueError) as error:
            raise self._refused(error) from error

    def discard(self) -> None:
        """Delete the dead letters: their rows will be written again."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            if self._stream is not None:
                self._stream.close()
                system, root = self._place()
                system.delete_file(f"{root}/{self._draft}")

    def _opened(self) -> Any:
        if self._stream is None:
            system, root = self._place()
            system.create_dir(root, recursive=True)
            self._stream = system.open_output_stream(f"{root}/{self._draft}")
        return self._stream

    def _place(self) -> tuple[Any, str]:
        if "://" in self._folder:
            system, root = fs.FileSystem.from_uri(self._folder)
            return system, root.rstrip("/")
        return fs.LocalFileSystem(), self._folder

    def _refused(self, error: Exception) -> DeadLetterPathRefused:
        return DeadLetterPathRefused(f"hearth.dead.letters: cannot write to {self._folder!r}: {error}")


def _sync(system: Any, path: str) -> None:
    """Flush a local file or directory to disk."""
    if isinstance(system, fs.LocalFileSystem):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
