"""A place in a directory of this machine, or of a mounted file system."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from hearth_api import ConnectError, NotFoundError
from hearth_storage.place.file_tree import files_below, paged
from hearth_storage.place.place import Entry, NameTaken, Place

_FACT = "user.hearth."


class LocalPlace(Place):
    """Files below a directory; names of unfinished files begin with a point, as those that readers skip."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)

    @property
    def address(self) -> str:
        """Return the directory as a URL."""
        return self._root.absolute().as_uri()

    def check(self) -> None:
        """Check that the directory exists and may be written to."""
        if not self._root.is_dir():
            raise NotFoundError(f"{self._root} is no directory", hint="create it")
        if not os.access(self._root, os.W_OK):
            raise ConnectError(f"{self._root} is not writable for this user")

    def put(
        self, name: str, data: bytes | Path, *, if_absent: bool = False, facts: Mapping[str, str] | None = None
    ) -> None:
        """Write beside the name, sync, and link or rename."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{uuid.uuid4().hex}")
        try:
            with unfinished.open("xb") as out:
                if isinstance(data, bytes):
                    out.write(data)
                else:
                    with data.open("rb") as source:
                        shutil.copyfileobj(source, out, 1 << 20)
                _keep(out.fileno(), facts or {})
                out.flush()
                os.fsync(out.fileno())
            if if_absent:
                os.link(unfinished, path)
            else:
                unfinished.replace(path)
            _sync(path.parent)
        except FileExistsError as error:
            raise NameTaken(name) from error
        except OSError as error:
            raise ConnectError(f"cannot write {path}: {error.strerror}") from error
        finally:
            unfinished.unlink(missing_ok=True)

    def read(self, name: str, start: int = 0, length: int | None = None) -> bytes:
        """Read from the disk."""
        with self.reader(name) as file:
            file.seek(start)
            return file.read(-1 if length is None else length)

    def reader(self, name: str) -> BinaryIO:
        """Open the file."""
        try:
            return self._path(name).open("rb")
        except FileNotFoundError as error:
            raise NotFoundError(f"{self._path(name)} is absent") from error

    def list(self, prefix: str = "", after: str = "") -> Iterator[Sequence[Entry]]:
        """Walk the directories in the order of names."""
        names = (name for name, _ in files_below(self._children, prefix, after))
        return paged(entry for name in names if (entry := self._entry(name)) is not None)

    def head(self, name: str) -> Entry | None:
        """Return the facts of the file from its extended attributes, where the file system has them."""
        return self._entry(name, with_facts=True)

    def delete(self, name: str) -> None:
        """Unlink the file."""
        self._path(name).unlink(missing_ok=True)

    def rename(self, name: str, new_name: str) -> None:
        """Link the new name, then unlink the old one."""
        target = self._path(new_name)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(self._path(name), target)
        except FileExistsError as error:
            raise NameTaken(new_name) from error
        except FileNotFoundError as error:
            raise NotFoundError(f"{self._path(name)} is absent") from error
        self.delete(name)

    def _path(self, name: str) -> Path:
        if any(part in ("", ".", "..") for part in name.split("/")):
            raise ConnectError(f"{name!r} is no name of a file below {self._root}")
        return self._root / name

    def _children(self, above: str) -> Iterator[tuple[str, None]]:
        try:
            for each in os.scandir(self._root / above):
                if not each.name.startswith("."):
                    yield each.name + "/" * each.is_dir(), None
        except FileNotFoundError:
            return

    def _entry(self, name: str, *, with_facts: bool = False) -> Entry | None:
        path = self._path(name)
        try:
            status = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        changed = status.st_mtime_ns // 1_000_000
        version = f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
        return Entry(name, status.st_size, changed, version, _kept(path) if with_facts else {})


def _keep(file: int, facts: Mapping[str, str]) -> None:
    for key, value in facts.items():
        with suppress(OSError, AttributeError):
            os.setxattr(file, _FACT + key, value.encode())


def _kept(path: Path) -> dict[str, str]:
    try:
        names = [name for name in os.listxattr(path) if name.startswith(_FACT)]
        return {name[len(_FACT) :]: os.getxattr(path, name).decode() for name in names}
    except (OSError, AttributeError):
        return {}


def _sync(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
