"""Trees: the files of a bundle, read the same way whether they lie in a directory, a zip or a tar archive."""

from __future__ import annotations

import io
import os
import re
import tarfile
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO

from hearth.discovery.failure import COPY_AGAIN, BundleError

MAX_TEXT = 16 * 1024 * 1024
"""No metadata file is larger; one that claims to be would only fill the host's memory."""
_DRIVE = re.compile(r"^[A-Za-z]:")


class Tree(ABC):
    """The files below one root, by relative paths with forward slashes."""

    @abstractmethod
    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Return the sorted paths of the files and of the folders directly in ``folder``."""

    @abstractmethod
    def open(self, path: str) -> IO[bytes]:
        """Open a file for reading; the caller closes it."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Return how many bytes a file has."""

    def close(self) -> None:
        """Release what the tree holds open."""
        return

    def walk(self, folder: str = "") -> Iterator[str]:
        """Yield every file below ``folder``, depth first."""
        files, folders = self.children(folder)
        yield from files
        for below in folders:
            yield from self.walk(below)

    def read_text(self, path: str) -> str:
        """Return a small file as text."""
        if self.size(path) > MAX_TEXT:
            raise BundleError(f"{path} has {self.size(path)} bytes, more than metadata can have")
        with self.open(path) as file:
            return file.read().decode("utf-8", "replace")

    def __enter__(self) -> Tree:
        """Return the tree itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the tree."""
        self.close()


class DirectoryTree(Tree):
    """A directory: links are followed, broken ones left out, a directory reached twice is walked once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """List one directory."""
        files, folders = [], []
        with os.scandir(self.root / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if is_ignored(path):
                    continue
                if entry.is_dir():
                    folders.append(path)
                elif entry.is_file():
                    files.append(path)
        return sorted(files), sorted(folders)

    def walk(self, folder: str = "") -> Iterator[str]:
        """Yield every file, entering each real directory once, so that a loop of links ends."""
        yield from self._walk(folder, set())

    def _walk(self, folder: str, visited: set[str]) -> Iterator[str]:
        real = os.path.realpath(self.root / folder)
        if real in visited:
            return
        visited.add(real)
        files, folders = self.children(folder)
        yield from files
        for below in folders:
            yield from self._walk(below, visited)

    def open(self, path: str) -> IO[bytes]:
        """Open a file of the directory."""
        return (self.root / path).open("rb")

    def size(self, path: str) -> int:
        """Ask the file system."""
        return (self.root / path).stat().st_size


class ArchiveTree(Tree):
    """An archive: its index is read once, and a name that would leave the archive condemns all of it."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = [check_path(name) for name in names if not name.endswith("/")]

    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Look the folder up in the index."""
        files, folders = self._index.get(folder, ([], set()))
        return files, sorted(folders)

    @cached_property
    def _index(self) -> dict[str, tuple[list[str], set[str]]]:
        index: dict[str, tuple[list[str], set[str]]] = {"": ([], set())}
        for name in sorted(self._names):
            child, is_folder = str(PurePosixPath(name)), False
            if is_ignored(child):
                continue
            while child:
                parent = child.rpartition("/")[0]
                files, folders = index.setdefault(parent, ([], set()))
                if is_folder:
                    folders.add(child)
                else:
                    files.append(child)
                child, is_folder = parent, True
        return index


class ZipTree(ArchiveTree):
    """A zip file or a wheel, on disk or read from inside another bundle."""

    def __init__(self, source: Path | IO[bytes]) -> None:
        try:
            self._zip = zipfile.ZipFile(source)
        except (zipfile.BadZipFile, EOFError, ValueError) as error:
            raise BundleError(f"it is truncated or not a zip file ({error})", hint=COPY_AGAIN) from error
        super().__init__(self._zip.namelist())

    def open(self, path: str) -> IO[bytes]:
        """Open a member."""
        try:
            return self._zip.open(path)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise BundleError(f"{path} cannot be read ({error})", hint=COPY_AGAIN) from error

    def size(self, path: str) -> int:
        """Read it from the index."""
        return self._zip.getinfo(path).file_size

    def close(self) -> None:
        """Close the file."""
        self._zip.close()


class TarTree(ArchiveTree):
    """A compressed tar archive. Links inside it are not followed: only regular files count."""

    def __init__(self, source: Path) -> None:
        try:
            self._tar = tarfile.open(source, "r:*")  # noqa: SIM115 - close() closes it
            members = self._tar.getmembers()
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the file system's own error: the caller words it
            raise BundleError(f"it is truncated or not a tar archive ({error})", hint=COPY_AGAIN) from error
        for member in members:
            check_path(member.name)
        self._members = {str(PurePosixPath(member.name)): member for member in members if member.isreg()}
        super().__init__(self._members)

    def open(self, path: str) -> IO[bytes]:
        """Read a member whole: a compressed archive cannot be read at two places at once."""
        file = self._tar.extractfile(self._members[path])
        assert file is not None, "regular files only"
        with file:
            return io.BytesIO(file.read())

    def size(self, path: str) -> int:
        """Read it from the index."""
        return self._members[path].size

    def close(self) -> None:
        """Close the file."""
        self._tar.close()


Opener = Callable[[], Tree]


def check_path(name: str) -> str:
    """Return ``name``, or raise when unpacking it could write outside the folder it is unpacked into."""
    plain = name.replace("\\", "/")
    if plain.startswith("/") or _DRIVE.match(plain) or ".." in plain.split("/") or "\0" in plain:
        raise BundleError(f"it holds the path {name!r}, which leads out of the archive", hint="do not install it")
    return name


def is_ignored(path: str) -> bool:
    """Return whether a path is something other programs leave behind, not a part of a bundle."""
    return path.startswith((".", "__MACOSX")) or "__pycache__" in path
