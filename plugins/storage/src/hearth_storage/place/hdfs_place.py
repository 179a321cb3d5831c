"""A place in HDFS, reached through hdfs-native, which needs neither Java nor Hadoop's files."""

from __future__ import annotations

import re
import socket
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from hdfs_native import Client, WriteOptions

from hearth_api import ConnectError, NotFoundError, RetriableError
from hearth_storage.place.file_tree import files_below, paged
from hearth_storage.place.place import Entry, Place
from hearth_storage.place.range_reader import RangeReader
from hearth_storage.place.translation import translating

TEMPORARY = "+tmp"
"""Directory of unfinished files below the first one of a name, as in Confluent's connector."""
_CHUNK = 8 * 1024 * 1024
_TIMEOUT = 5.0
_ANSWER = re.compile(r'RPCError\("(?P<kind>[\w.$]+)", "(?P<text>.*)', re.DOTALL)
_HINTS = {
    "AccessControlException": "grant the right to this user, or set HADOOP_USER_NAME or a Kerberos principal",
    "NSQuotaExceededException": "raise the quota of the directory",
    "DSQuotaExceededException": "raise the quota of the directory",
}
_PASSING = frozenset({"StandbyException", "RetriableException", "SafeModeException", "ObserverRetryOnActiveException"})


def _error(address: str, error: Exception) -> ConnectError:
    answer = _ANSWER.match(str(error))
    kind = answer["kind"].rpartition(".")[2] if answer else ""
    text = answer["text"].partition("\\n")[0] if answer else " ".join(str(error).partition("\n\tat ")[0].split())
    message = f"{address}: {text}"
    if isinstance(error, FileNotFoundError):
        return NotFoundError(message)
    if isinstance(error, OSError) or kind in _PASSING:
        return RetriableError(message)
    return ConnectError(message, hint=_HINTS.get(kind))


_translated = translating(FileExistsError, (OSError, RuntimeError), _error)


class HdfsPlace(Place):
    """Files below a directory of HDFS. A file is written under a temporary name and renamed when it is complete."""

    def __init__(self, url: str, client: Client | None = None) -> None:
        """Note the directory; nothing is asked yet.

        `url` is `hdfs://host:port/directory`, or that of a name service which Hadoop's configuration describes.
        """
        parts = urlsplit(url)
        self._address = url.rstrip("/")
        self._host, self._port = parts.hostname, parts.port
        self._root = parts.path.rstrip("/")
        self._client = client or client_of(url)

    @property
    def address(self) -> str:
        """Return the address of the directory."""
        return self._address

    @_translated
    def check(self) -> None:
        """Check that the name node answers; its client would wait three minutes for one that does not."""
        if self._host and self._port:
            socket.create_connection((self._host, self._port), _TIMEOUT).close()
        self._client.get_file_info("/")

    def put(
        self, name: str, data: bytes | Path, *, if_absent: bool = False, facts: Mapping[str, str] | None = None
    ) -> None:
        """Write the temporary file and rename it; HDFS keeps no facts."""
        temporary = self._temporary(name)
        try:
            self._write(temporary, data)
            self._rename(temporary, name, overwrite=not if_absent)
        except BaseException:
            self._discard(temporary)
            raise

    @_translated
    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Read a range; the client panics beyond the end of a file."""
        file = self._client.read(self._path(name))
        rest = max(0, len(file) - start)
        wanted = rest if length is None else min(length, rest)
        return bytes(file.read_range(start, wanted)) if wanted else b""

    def reader(self, name: str) -> BinaryIO:
        """Return a reader of ranges."""
        entry = self.head(name)
        if entry is None:
            raise NotFoundError(f"{self._address}/{name} is absent")
        return cast("BinaryIO", RangeReader(self, name, entry.size))

    def list(self, prefix: str = "", after: str = "") -> Iterator[Sequence[Entry]]:
        """Walk the directories in the order of names, without temporary files."""
        return paged(_entry(*each) for each in files_below(self._children, prefix, after))

    @_translated
    def head(self, name: str) -> Entry | None:
        """Ask the name node."""
        try:
            status = self._client.get_file_info(self._path(name))
        except FileNotFoundError:
            return None
        return None if status.isdir else _entry(name, status)

    @_translated
    def delete(self, name: str) -> None:
        """Delete the file."""
        self._client.delete(self._path(name))

    def rename(self, name: str, new_name: str) -> None:
        """Rename within HDFS."""
        self._rename(name, new_name, overwrite=False)

    def replace(self, name: str, new_name: str) -> None:
        """Rename atomically, in place of a file that has the new name."""
        self._rename(name, new_name, overwrite=True)

    def write(self, name: str, data: bytes | Path) -> None:
        """Write a file in place of one that exists; raises `NotFoundError` if its directory does not exist."""
        self._write(name, data, create_parent=False)

    @_translated
    def make_directory(self, name: str) -> None:
        """Make a directory and those above it; do nothing if it exists."""
        self._client.mkdirs(self._path(name), create_parent=True)

    @_translated
    def delete_directory(self, name: str) -> None:
        """Delete a directory with all that is in it, atomically; do nothing if there is none."""
        self._client.delete(self._path(name), True)

    @_translated
    def directories(self, name: str) -> Sequence[str]:
        """Return the last parts of the names of the directories in a directory, none if it does not exist."""
        try:
            found = self._client.list_status(self._path(name))
            return [each.path.rpartition("/")[2] for each in found if each.isdir]
        except FileNotFoundError:
            return []

    @_translated
    def all_files(self, name: str) -> Sequence[str]:
        """Return the names of all files below a directory, hidden ones too; none if it does not exist."""
        try:
            found = self._client.list_status(self._path(name), True)
            return [each.path[len(self._root) + 1 :] for each in found if not each.isdir]
        except FileNotFoundError:
            return []

    @_translated
    def closed(self, name: str) -> bool:
        """Take a file away from whoever writes it; return whether it is closed, else ask again in a moment.

        Bytes that a writer has synchronized can be read once it is closed.
        """
        return self._client.recover_lease(self._path(name))

    @_translated
    def _write(self, name: str, data: bytes | Path, *, create_parent: bool = True) -> None:
        options = WriteOptions(create_parent=create_parent, overwrite=True)
        with self._client.create(self._path(name), options) as out:
            if isinstance(data, bytes):
                out.write(data)
                return
            with data.open("rb") as source:
                while chunk := source.read(_CHUNK):
                    out.write(chunk)

    def _rename(self, name: str, new_name: str, *, overwrite: bool) -> None:
        parent = new_name.rpartition("/")[0]
        if parent:
            self.make_directory(parent)
        self._move(new_name, name, overwrite=overwrite)

    @_translated
    def _move(self, new_name: str, name: str, *, overwrite: bool) -> None:
        self._client.rename(self._path(name), self._path(new_name), overwrite)

    def _discard(self, name: str) -> None:
        try:
            self.delete(name)
        except ConnectError:
            return  # the error of the write counts; the file is below `+tmp`

    def _temporary(self, name: str) -> str:
        directory, _, last = name.rpartition("/")
        first, _, rest = directory.partition("/")
        parts = (first, TEMPORARY, rest, f"{uuid.uuid4()}_tmp{Path(last).suffix}")
        return "/".join(part for part in parts if part)

    def _path(self, name: str) -> str:
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise ConnectError(f"{name!r} is no name of a file in {self._address}")
        return f"{self._root}/{name}"

    @_translated
    def _children(self, above: str) -> Sequence[tuple[str, Any]]:
        path = f"{self._root}/{above}".rstrip("/") or "/"
        try:
            found = [(each.path.rpartition("/")[2], each) for each in self._client.list_status(path)]
        except FileNotFoundError:
            return []
        return [(last + "/" * each.isdir, each) for last, each in found if last != TEMPORARY and last[:1] not in "._"]


def _entry(name: str, status: Any) -> Entry:
    version = f"{status.modification_time}-{status.length}"
    return Entry(name, status.length, status.modification_time, version)


def client_of(url: str, conf_dir: str | None = None, **kerberos: str) -> Client:
    """Return a client of the name node that an address names; raises `ConnectError` for what it cannot read.

    `conf_dir` is a directory of Hadoop's configuration, `kerberos` are `kerberos_principal` and `kerberos_keytab`.
    """
    parts = urlsplit(url)
    try:
        return Client(f"{parts.scheme}://{parts.netloc}", None, conf_dir, **kerberos)
    except (OSError, RuntimeError, ValueError) as error:
        raise ConnectError(f"{url}: {' '.join(str(error).split())}") from error
