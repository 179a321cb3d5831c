"""Trees: one interface to the files of a bundle in a directory, a zip file or a tar archive."""

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
"""Files up to this many bytes are read at once."""
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
"""Exceptions of the standard library for damaged bytes; each was observed on altered archives."""


class Source(Protocol):
    """A file that can be read sequentially."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, none at the end."""

    def close(self) -> None:
        """Release the file."""


class FilePart:
    """A seekable view of a part of an open file.

    One call returns at most ``MAX_READ`` bytes, because libraries read as much as the bytes of an archive declare.
    """

    def __init__(self, file: Source, start: int, size: int, is_owner: bool = False) -> None:
        self.size = size
        self._file = file
        self._start = start
        self._place = 0
        self._is_owner = is_owner

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes; raise ``EOFError`` if the file ends before the part does."""
        left = max(0, self.size - self._place)
        wanted = left if size is None or size < 0 else min(size, left)
        if not wanted:
            return b""
        if wanted > MAX_READ:
            raise BundleError(f"it has an entry of {wanted} bytes, more than the limit of {MAX_READ}")
        self._file.seek(self._start + self._place)  # type: ignore[attr-defined]
        found = self._file.read(wanted)
        if len(found) < wanted:
            raise EOFError("it ends too early")
        self._place += len(found)
        return found

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move to a position."""
        place = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self.size}[whence]
        if place < 0:
            raise ValueError("negative seek position")
        self._place = place
        return place

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._place

    def seekable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Close the file if this part owns it."""
        if self._is_owner:
            self._file.close()


def open_file(path: Path) -> FilePart:
    """Open a regular file; refuse pipes and devices, which may block or never end.

    A small file is read at once, which saves about a dozen system calls for its index.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise BundleError(f"{path.name!r} is not a regular file")
        if found.st_size > _SMALL:
            return FilePart(os.fdopen(descriptor, "rb"), 0, found.st_size, is_owner=True)
        file = io.BytesIO(os.read(descriptor, found.st_size))
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return FilePart(file, 0, found.st_size)


class Reading:
    """Turns the standard library's errors for damaged bytes into ``BundleError``; ``OSError`` passes through."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Start reading."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Replace an error that indicates damage."""
        if isinstance(error, _DAMAGE):
            raise BundleError(f"{self._what} ({str(error) or type(error).__name__})", hint=COPY_AGAIN) from error
        if isinstance(error, OSError) and error.errno is None:
            raise BundleError(f"{self._what} ({error})", hint=COPY_AGAIN) from error


AnyTree = TypeVar("AnyTree", bound="Tree")


class Tree(ABC):
    """The files below a root, addressed by relative paths with forward slashes."""

    @abstractmethod
    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Return the sorted paths of the files and of the folders directly in ``folder``."""

    @abstractmethod
    def open(self, path: str) -> Source:
        """Open a file for reading; the caller closes it."""

    @abstractmethod
    def open_archive(self, path: str) -> FilePart:
        """Open a file for random access; the caller closes it."""

    @abstractmethod
    def size(self, path: str) -> int:
        """Return the declared size of a file in bytes."""

    def close(self) -> None:
        """Release the tree's resources."""
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
    """A directory. Links are followed, broken links are skipped, and each real directory is walked once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """List one directory; special files are ignored."""
        if folder.count("/") >= MAX_DEPTH:
            raise BundleError(f"it has folders more than {MAX_DEPTH} deep", hint="remove the deeply nested folders")
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
        """Yield every file, entering each real directory once so that link cycles end."""
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
        """Return the size that the file system reports."""
        return (self.root / path).stat().st_size


Opener = Callable[[], Tree]


def blocks(file: Source, size: int = 1 << 20) -> Iterator[bytes]:
    """Yield the content of a file block by block."""
    return iter(lambda: file.read(size), b"")


def bounded(content: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield blocks of content; raise when their total exceeds ``limit`` bytes."""
    total = 0
    for block in content:
        total += len(block)
        if total > limit:
            raise BundleError(f"it unpacks to more than the limit of {limit} bytes", hint=REPACK)
        yield block


def kind_of(entry: os.DirEntry[str]) -> str | None:
    """Return ``folder`` or ``file`` for a directory entry; ``None`` for special files and broken links."""
    try:
        return "folder" if entry.is_dir() else "file" if entry.is_file() else None
    except OSError:  # a link to itself
        return None


def check_path(name: str) -> str:
    """Return ``name``; raise if it cannot be unpacked or would be written outside its folder."""
    plain = name.replace("\\", "/")
    if plain.startswith("/") or _DRIVE.match(plain) or ".." in plain.split("/") or "\0" in plain:
        reason = f"it holds the path {quoted(name)}, which points outside the archive"
        raise BundleError(reason, hint="do not install it")
    if plain.count("/") > MAX_DEPTH or len(name) > MAX_PART:  # most names are short, so check only others fully
        _check_length(plain)
    if not (name.isascii() or is_text(name)):
        raise BundleError(f"it holds the path {quoted(name)}, which is not UTF-8")
    return name


def _check_length(name: str) -> None:
    parts = name.split("/")
    if len(parts) > MAX_DEPTH + 1:
        raise BundleError(f"it has folders more than {MAX_DEPTH} deep")
    if len(name) > MAX_PATH or max(map(len, parts)) > MAX_PART:
        raise BundleError(f"it holds a path of {len(name)} characters, longer than a file system can hold")


def is_text(name: str) -> bool:
    """Return whether a string can be encoded as UTF-8, which is not true of every file name."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_ignored(path: str) -> bool:
    """Return whether other programs left this path behind, so that it is not part of a bundle."""
    return path.startswith((".", "__MACOSX")) or "__pycache__" in path


def too_many_files() -> BundleError:
    """Return the error for a tree with too many files, such as a whole disk."""
    return BundleError(
        f"it holds more than {MAX_FILES} files", hint="check its links, and name the bundle's own directory"
    )
