"""Source offsets in one file, replaced as a whole at every write."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from hearth.foundation.user_file import replace_durably
from hearth.storage.memory import MemoryOffsetStore, OffsetMap, partition_key
from hearth_api import ConfigError, ConnectError, RetriableError

KEY = "offset.storage.file.filename"
FORMAT = 1
JAVA_SERIALIZATION_MAGIC = b"\xac\xed"


class OffsetsClaimed(ConnectError):
    """Another host uses the offset file."""

    code = "environment.offsets"

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(
            f"{KEY}={str(path)!r} is in use by a running host: {holder}",
            hint="stop that host, or name another file: the hosts would overwrite each other's offsets",
        )


class OffsetClaim:
    """A host's exclusive claim to an offset file for its lifetime; readers need none.

    It is an operating system lock, so that of a killed host is released. The lock file next to the offset file
    remains; it names the present or last holder.
    """

    def __init__(self, path: Path | str) -> None:
        """Claim the file; raise OffsetsClaimed if another host has it, ConfigError if it cannot be locked."""
        path = Path(path).absolute()
        _check_directory(path)
        place = Path(os.path.realpath(path))
        self.path = place.with_name(place.name + ".lock")
        self._lock = FileLock(self.path, timeout=0, thread_local=False)
        try:
            self._lock.acquire()
            self.path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")
        except Timeout:
            raise OffsetsClaimed(path, _first_line(self.path)) from None
        except OSError as error:
            raise ConfigError(
                f"{KEY}={str(path)!r} cannot be locked by {str(self.path)!r}: {error.strerror}",
                code="offsets.unlocked",
                hint="make that file writable, or name an offset file on a file system that supports locks",
            ) from error

    def release(self) -> None:
        """Release the file."""
        self._lock.release()


class FileOffsetStore(MemoryOffsetStore):
    """Keeps the offsets of a standalone host, and the number of its last term, in one JSON file.

    A write creates a second file, syncs it, renames it over the first and syncs the directory (Invariant 5): whenever
    the process or the machine stops, the file holds either the old or the new offsets, and those for which `put` has
    returned are durable.
    """

    def __init__(self, path: Path | str) -> None:
        """Read the file; a missing or empty one holds no offsets."""
        self.path = Path(path).absolute()
        stored, self._term = _parse(self.path, _read(self.path))
        super().__init__(stored)

    def begin_term(self) -> int:
        """Return a durable number greater than all earlier ones of this file.

        The generations of a host start with it, so a surviving run of an earlier host is always older.
        """
        with self._lock:
            self._replace(self._stored, self._term + 1)
            self._term += 1
            return self._term

    def _write(self, changed: OffsetMap) -> None:
        self._replace(changed, self._term)

    def _replace(self, offsets: OffsetMap, term: int) -> None:
        with _instructive(self.path):
            replace_durably(self.path, _format(offsets, term).encode())


def _first_line(path: Path) -> str:
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        return file.readline(300).strip() or "it does not say which"
    return "it does not say which"


def _check_directory(path: Path) -> None:
    if not path.parent.is_dir():
        raise ConfigError(
            f"{KEY}={str(path)!r}: the directory {str(path.parent)!r} does not exist",
            code="offsets.unreadable",
            hint="create the directory or name a file in one that exists",
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise ConfigError(
            f"{KEY}={str(path)!r}: the directory {str(path.parent)!r} is not writable",
            code="offsets.unwritable",
            hint="make it writable for the host or name a file elsewhere",
        )


def _read(path: Path) -> bytes:
    _check_directory(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise ConfigError(
            f"{KEY}={str(path)!r} is not readable: {error.strerror}",
            code="offsets.unreadable",
            hint="name a regular file that the host can read and write",
        ) from error


def _parse(path: Path, data: bytes) -> tuple[OffsetMap, int]:
    """Return the offsets and the number of the last term, which older files lack."""
    if data.startswith(JAVA_SERIALIZATION_MAGIC):
        raise ConfigError(
            f"{KEY}={str(path)!r} is an offset file of Kafka Connect for Java, which is not supported yet",
            code="offsets.java",
            hint="name another file; source connectors then start from the beginning",
        )
    if not data.strip():
        return {}, 0
    try:
        document = json.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"it has format {document['format']!r}, known is {FORMAT}")
        offsets = {
            connector: {partition_key(partition): (dict(partition), dict(offset)) for partition, offset in rows}
            for connector, rows in document["offsets"].items()
        }
        return offsets, _term(document.get("term", 0))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(
            f"{KEY}={str(path)!r} is not a Hearth offset file: {error}",
            code="offsets.invalid",
            hint="restore the file from a backup, or name another one and start from the beginning",
        ) from error


def _term(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"its term is {value!r}, a number was expected")
    return value


def _format(stored: OffsetMap, term: int) -> str:
    offsets = {connector: [list(row) for row in rows.values()] for connector, rows in stored.items() if rows}
    terms = {"term": term} if term else {}
    return json.dumps({"format": FORMAT, **terms, "offsets": offsets}, indent=1) + "\n"


@contextmanager
def _instructive(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RetriableError(
            f"offsets not written to {str(path)!r} ({KEY}): {error.strerror}; the earlier offsets are kept",
            code="offsets.unwritable",
            hint="free disk space or make the file writable; the next commit tries again",
        ) from error
