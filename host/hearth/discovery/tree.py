"""Trees: the files of a bundle, read the same way whether they lie in a directory, a zip or a tar archive."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from lzma import LZMAError
from pathlib import Path
from typing import Protocol, TypeVar

from hearth.discovery.bundle_limits import MAX_DEPTH, MAX_FILES, MAX_PART, MAX_PATH, MAX_READ, MAX_TEXT
from hearth.discovery.refusal import COPY_AGAIN, REPACK, BundleError, quoted

_SMALL = 64 << 10
"""Bytes of a file that is read at once."""
_DRIVE = re.compile(r"^[A-Za-z]:")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    LZMAError,
    struct.error,
    EOFError,
    ValueError,
    LookupError,
    ArithmeticError,
    RuntimeError,
)
"""What the standard library raises for bytes it cannot make sense of: all of it was seen on changed archives."""


class Source(Protocol):
    """A file that can be read from its beginning to its end."""

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes, none at the end."""

    def close(self) -> None:
        """Release the file."""


class FilePart:
    """A part of an open file as a file of its own, which can be read at any place.

    One call hands out ``MAX_READ`` bytes at most: libraries ask for as much as the bytes of an archive tell them.
    """

    def __init__(self, file: Source, start: int, size: int, is_owner: bool = False) -> None:
        self.size = size
        self._file = file
        self._start = start
        self._place = 0
        self._is_owner = is_owner

    def read(self, size: int = -1, /) -> bytes:
        """Return up to so many bytes; EOFError where the file ends before its part does."""
        left = max(0, self.size - self._place)
        wanted = left if size is None or size < 0 else min(size, left)
        if not wanted:
            return b""
        if wanted > MAX_READ:
            raise BundleError(f"it has an entry of {wanted} bytes where one of {MAX_READ} is the most that is read")
        self._file.seek(self._start + self._place)  # type: ignore[attr-defined]
        found = self._file.read(wanted)
        if len(found) < wanted:
            raise EOFError("it ends too early")
        self._place += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Go to a place."""
        place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}[whence]
        if place < 0:
            raise ValueError("a place before the beginning")
        self._place = place
        return place

    def tell(self) -> int:
        """Return the place of the next read."""
        return self._place

    def seekable(self) -> bool:
        """Return that any place can be gone to."""
        return True

    def close(self) -> None:
        """Close the file, where this is all of it."""
        if self._is_owner:
            self._file.close()


def open_file(path: Path) -> FilePart:
    """Open a regular file; anything else, a pipe or a device, would never end or never begin.

    A small one is read at once: its index and what that leads to would be a dozen calls of the system.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BundleError(f"{path.name!r} is no regular file")
        if found.st_size > _SMALL:
            return FilePart(os.fdopen(descriptor, "rb"), 0, found.st_size, is_owner=True)
        file = io.BytesIO(os.read(descriptor, found.st_size))
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return FilePart(file, 0, found.st_size)


class Reading:
    """Words what the standard library says of damaged bytes as ``BundleError``; the system's own errors pass."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Begin to read."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Raise in the place of what tells of damage."""
        if isinstance(error, _DAMAGE):
            raise BundleError(f"{self._what} ({str(error) or type(error).__name__})", hint=COPY_AGAIN) from error
        if isinstance(error, OSError) and error.errno is None:
            raise BundleError(f"{self._what} ({error})", hint=COPY_AGAIN) from error


AnyTree = TypeVar("AnyTree", bound="Tree")


class Tree(ABC):
    """The files below one root, by relative paths with forward slashes."""

    @abstractmethod
    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Return the sorted paths of the files and of the folders directly in ``folder``."""

    @abstractmethod
    def open(self, path: str) -> Source:
        """Open a file for reading; the caller closes it."""

    @abstractmethod
    def open_archive(self, path: str) -> FilePart:
        """Open a file that is to be read at several places; the caller closes it."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Return how many bytes a file says it has."""

    def close(self) -> None:
        """Release what the tree holds open."""
        return

    def walk(self, folder: str = "") -> Iterator[str]:
        """Yield every file below ``folder``, depth first."""
        files, folders = self.children(folder)
        yield from files
        for below in folders:
            yield from self.walk(below)

    def read_text(self, path: str, limit: int = MAX_TEXT) -> str:
        """Return a small file as text."""
        size = self.size(path)
        if size > limit:
            raise BundleError(f"{path} has {size} bytes, more than the {limit} that are read of it")
        with Reading(f"{path} is damaged"), contextlib.closing(self.open(path)) as file:
            return b"".join(bounded(blocks(file), limit)).decode("utf-8", "replace")

    def __enter__(self: AnyTree) -> AnyTree:
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
        """List one directory; what is neither a file nor a directory is no part of a bundle."""
        if folder.count("/") >= MAX_DEPTH:
            raise BundleError(f"it has folders more than {MAX_DEPTH} deep", hint="remove what does not belong there")
        files: list[str] = []
        folders: list[str] = []
        with os.scandir(self.root / folder) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                kind = None if is_ignored(path) else kind_of(entry)
                if kind is not None:
                    (folders if kind == "folder" else files).append(path)
                if len(files) + len(folders) > MAX_FILES:
                    raise too_many_files()
        return sorted(files), sorted(folders)

    def walk(self, folder: str = "") -> Iterator[str]:
        """Yield every file, entering each real directory once, so that a loop of links ends."""
        for number, path in enumerate(self._walk(folder, set())):
            if number >= MAX_FILES:
                raise too_many_files()
            yield path

    def _walk(self, folder: str, visited: set[str]) -> Iterator[str]:
        real = os.path.realpath(self.root / folder)
        if real in visited:
            return
        if len(visited) >= MAX_FILES:
            raise too_many_files()
        visited.add(real)
        files, folders = self.children(folder)
        yield from files
        for below in folders:
            yield from self._walk(below, visited)

    def open(self, path: str) -> Source:
        """Open a file of the directory."""
        return open_file(self.root / path)

    def open_archive(self, path: str) -> FilePart:
        """Open a file of the directory."""
        return open_file(self.root / path)

    def size(self, path: str) -> int:
        """Ask the file system."""
        return (self.root / path).stat().st_size


Opener = Callable[[], Tree]


def blocks(file: Source, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the content of a file block by block."""
    return iter(lambda: file.read(size), b"")


def bounded(content: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield what goes through and refuse, at that point, a content that goes on behind a number of bytes."""
    total = 0
    for block in content:
        total += len(block)
        if total > limit:
            raise BundleError(f"it unpacks to more than {limit} bytes, which is more than it may", hint=REPACK)
        yield block


def kind_of(entry: os.DirEntry[str]) -> str | None:
    """Return whether a directory's entry is a ``folder`` or a ``file``; ``None`` for a pipe, or a link to nothing."""
    try:
        return "folder" if entry.is_dir() else "file" if entry.is_file() else None
    except OSError:  # a link that leads to itself
        return None


def check_path(name: str) -> str:
    """Return ``name``, or raise when it cannot be unpacked or unpacking it could write outside its folder."""
    plain = name.replace("\\", "/")
    if plain.startswith("/") or _DRIVE.match(plain) or ".." in plain.split("/") or "\0" in plain:
        reason = f"it holds the path {quoted(name)}, which leads out of the archive"
        raise BundleError(reason, hint="do not install it")
    if plain.count("/") > MAX_DEPTH or len(name) > MAX_PART:  # most names are short, so look closely at others only
        _check_length(plain)
    if not (name.isascii() or is_text(name)):
        raise BundleError(f"it holds the path {quoted(name)}, which is no UTF-8")
    return name


def _check_length(name: str) -> None:
    parts = name.split("/")
    if len(parts) > MAX_DEPTH + 1:
        raise BundleError(f"it has folders more than {MAX_DEPTH} deep")
    if len(name) > MAX_PATH or max(map(len, parts)) > MAX_PART:
        raise BundleError(f"it holds a path of {len(name)} characters, longer than a file system can hold")


def is_text(name: str) -> bool:
    """Return whether a text can be written as UTF-8, which file names need not be."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_ignored(path: str) -> bool:
    """Return whether a path is something other programs leave behind, not a part of a bundle."""
    return path.startswith((".", "__MACOSX")) or "__pycache__" in path


def too_many_files() -> BundleError:
    """Return the error for a bundle that is no bundle but a disk."""
    return BundleError(
        f"it holds more than {MAX_FILES} files", hint="see where its links lead; name the bundle's own directory"
    )
