"""Archives as trees: zip files, wheels and tar archives, of which nobody knows who made them.

What an archive declares of itself is checked before it is believed: how many files there are, what they
unpack to, what they are called. Nothing is read whole that is not small.
"""

from __future__ import annotations

import bz2
import contextlib
import lzma
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hearth.discovery.bundle_limits import MAX_FILES, MAX_PATH, bundle_limits, passing_allowance
from hearth.discovery.refusal import COPY_AGAIN, REPACK, BundleError, quoted
from hearth.discovery.tree import (
    FilePart,
    Reading,
    Source,
    Tree,
    blocks,
    bounded,
    check_path,
    is_ignored,
    open_file,
    too_many_files,
)

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How files of wheels are compressed; others may ask for gigabytes of memory to be unpacked."""
_ENCRYPTED = 0x1
_INTERPRETER = re.compile(r"(^|/)bin/python[0-9.]*$")
VENV_HINT = "a virtual environment is used as the directory that it is, and not packed: pack the project instead"
_LINKS = 40
"""Links that lead to each other, as many as Linux follows."""
_HEADER = struct.Struct("<4s22xHH")
"""What stands before each member of a zip file: a mark, and at its end the lengths of two more fields."""
_CHUNK, _BLOCK = 1 << 14, 1 << 20
_IN_MEMORY = 8 << 20
_XZ_MEMORY = 128 << 20
"""Twice what the strongest preset of xz needs."""

Member = TypeVar("Member")


class ArchiveTree(Tree):
    """An archive: its index is read once, and a name or link that would leave the archive condemns all of it.

    A link to a file of the archive is that file; a link to a folder of it is left out.
    """

    def _enter(self, names: Iterable[str]) -> None:
        """Sort the paths of the regular files into folders."""
        index: dict[str, tuple[list[str], list[str]]] = {"": ([], [])}
        _refuse_clashes(names)
        for name in sorted(names):
            if not is_ignored(name):
                _folder(index, name.rpartition("/")[0])[0].append(name)
        for files, folders in index.values():
            folders.sort()
            both = next((name for name in files if name in index), None)
            if both is not None:
                raise BundleError(f"it holds {both!r} as a file and as a folder")
        self._index = index

    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Look the folder up in the index."""
        return self._index.get(folder, ([], []))


class ZipTree(ArchiveTree):
    """A zip file or a wheel, on disk or read from inside another bundle."""

    def __init__(self, source: Path | FilePart) -> None:
        self._file = open_file(source) if isinstance(source, Path) else source
        try:
            with Reading("it is truncated or not a zip file"):
                found = zipfile.ZipFile(self._file).infolist()
            self._members, links = _checked(found, self._file.size)
            _follow(self._members, {path: (path, self._target_of(member)) for path, member in links.items()})
            self._enter(self._members)
        except BaseException:
            self.close()
            raise

    def open(self, path: str) -> Source:
        """Open a member."""
        return _Content(path, self._members[path], self._content(self._members[path]))

    def open_archive(self, path: str) -> FilePart:
        """Open a member where it lies, or where it is compressed a copy of it."""
        member = self._members[path]
        if member.compress_type == zipfile.ZIP_STORED:
            return FilePart(self._file, self._start_of(member), member.compress_size)
        with Reading(f"{path} is damaged"), contextlib.closing(self.open(path)) as source:
            return _passing(blocks(source), member.compress_size)

    def size(self, path: str) -> int:
        """Read it from the index."""
        return self._members[path].file_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check(self) -> None:
        """Read everything; raises where a file is damaged, or goes on behind the size that it declares.

        Installers find that out as well, after they have written what came.
        """
        for path in self._members:
            with Reading(f"{path} is damaged"):
                for _ in blocks(self.open(path)):
                    pass

    def _target_of(self, link: zipfile.ZipInfo) -> str:
        """Return where a link leads, which is its content."""
        with Reading(f"{link.filename} is damaged"):
            return b"".join(bounded(self._content(link), MAX_PATH)).decode("utf-8", "surrogateescape")

    def _content(self, member: zipfile.ZipInfo) -> Iterator[bytes]:
        packed = FilePart(self._file, self._start_of(member), member.compress_size)
        is_stored = member.compress_type == zipfile.ZIP_STORED
        return blocks(packed) if is_stored else _decompressed(packed, lambda: _Zlib(-zlib.MAX_WBITS))

    def _start_of(self, member: zipfile.ZipInfo) -> int:
        """Return where the content of a member begins: behind its own header, which the index does not measure."""
        with Reading(f"{member.filename} is damaged"):
            self._file.seek(member.header_offset)
            mark, name, extra = _HEADER.unpack(self._file.read(_HEADER.size))
            if mark != b"PK\3\4":
                raise ValueError("it has no header")
        return int(member.header_offset + _HEADER.size + name + extra)


class _Content:
    """What a member of a zip file holds, which at its end has to be what the index says of it."""

    def __init__(self, path: str, member: zipfile.ZipInfo, content: Iterator[bytes]) -> None:
        self._path = path
        self._wanted = member.file_size, member.CRC
        self._content = bounded(content, member.file_size)
        self._block = b""
        self._found = 0, 0

    def read(self, size: int, /) -> bytes:
        """Return up to so many bytes."""
        if not self._block:
            self._block = next(self._content, b"")
            length, checksum = self._found
            self._found = length + len(self._block), zlib.crc32(self._block, checksum)
            if not self._block and self._found != self._wanted:
                raise BundleError(f"{self._path} is not what the archive says of it", hint=COPY_AGAIN)
        found, self._block = self._block[:size], self._block[size:]
        return found

    def close(self) -> None:
        """Keep the archive open, which others read."""


class TarTree(ArchiveTree):
    """A tar archive, compressed or not. Devices, pipes and the like are no part of a bundle."""

    def __init__(self, source: Path) -> None:
        self._file = open_file(source)
        try:
            with Reading("it is truncated or not a tar archive"):
                self._file = _expanded(self._file)
                self._members = _members(self._file)
            self._enter(self._members)
        except BaseException:
            self.close()
            raise

    def open(self, path: str) -> Source:
        """Open a member where it lies."""
        return self.open_archive(path)

    def open_archive(self, path: str) -> FilePart:
        """Open a member where it lies."""
        return FilePart(self._file, *self._members[path])

    def size(self, path: str) -> int:
        """Read it from the index."""
        return self._members[path][1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _folder(index: dict[str, tuple[list[str], list[str]]], name: str) -> tuple[list[str], list[str]]:
    """Return a folder's place in the index, made with those around it."""
    found = index.get(name)
    if found is None:
        _folder(index, name.rpartition("/")[0])[1].append(name)
        found = index[name] = ([], [])
    return found


def _refuse_clashes(names: Iterable[str]) -> None:
    """Raise for names that are one and the same where a file system does not tell upper from lower case."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower() if name.isascii() else name.casefold(), name)
        if other != name:
            raise BundleError(f"it holds {other!r} and {name!r}, which are one file on some machines", hint=REPACK)


def _follow(members: dict[str, Member], links: Mapping[str, tuple[str, str]]) -> None:
    """Add the links that lead to files of the archive; ``links`` has where each lies and what it names from there."""
    targets = {path: _led_to(path, place, target) for path, (place, target) in links.items()}
    for path, target in targets.items():
        for _ in range(_LINKS):
            if target not in targets:
                break
            target = targets[target]
        if target in members:
            members[path] = members[target]


def _led_to(path: str, place: str, target: str) -> str:
    """Return the path that a link leads to; raises where that is outside of the archive."""
    found = [] if target.startswith("/") else place.split("/")[:-1]
    is_out = target.startswith(("/", "\\")) or "\0" in target
    for part in target.split("/"):
        if part == ".." and not found:
            is_out = True
        elif part == "..":
            found.pop()
        elif part not in ("", "."):
            found.append(part)
    if is_out:
        reason = f"it holds the link {quoted(path)} to {quoted(target)}, which leads out of the archive"
        raise BundleError(reason, hint=VENV_HINT if _INTERPRETER.search(path) else "do not install it")
    return "/".join(found)


def _checked(
    found: list[zipfile.ZipInfo], packed: int
) -> tuple[dict[str, zipfile.ZipInfo], dict[str, zipfile.ZipInfo]]:
    """Return the regular files of a zip file by their paths, and its links."""
    if len(found) > MAX_FILES:
        raise too_many_files()
    members: dict[str, zipfile.ZipInfo] = {}
    links: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for each in found:
        path = _normal(check_path(each.filename))
        if each.filename.endswith("/"):
            continue
        if not path:
            raise BundleError("it holds a file without a name")
        if path in members or path in links:
            raise BundleError(f"it holds {path!r} twice")
        if each.compress_type not in _METHODS or each.flag_bits & _ENCRYPTED:
            how = "encrypted" if each.flag_bits & _ENCRYPTED else f"compressed with method {each.compress_type}"
            raise BundleError(f"{path} is {how}, and only stored and deflated files are read", hint=REPACK)
        (links if stat.S_ISLNK(each.external_attr >> 16) else members)[path] = each
        total += each.file_size
    if total > bundle_limits(packed):
        raise BundleError(f"its {packed} bytes unpack to {total}, which is more than they may", hint=REPACK)
    return members, links


def _members(file: FilePart) -> dict[str, tuple[int, int]]:
    """Return beginning and size of the regular files of a tar archive by their paths."""
    import tarfile  # which few bundles are, and no host without them is to hold

    members: dict[str, tuple[int, int]] = {}
    links: dict[str, tuple[str, str]] = {}
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:  # type: ignore[call-overload]
            for number, each in enumerate(archive):
                if number >= MAX_FILES:  # in the standard library's older releases a header can lead back to itself
                    raise too_many_files()
                path = _normal(check_path(each.name))
                if each.issparse():
                    raise BundleError(f"{path} is a sparse file, larger than what is there of it", hint=REPACK)
                if path in members or path in links:
                    raise BundleError(f"it holds {path!r} twice", hint=REPACK)
                if each.issym() or each.islnk():
                    links[path] = (
                        path if each.issym() else "",
                        each.linkname,
                    )  # a hard link names a path of the archive
                elif each.isreg():
                    if not 0 <= each.size <= file.size - each.offset_data:
                        raise EOFError(f"{path} is not all there")
                    members[path] = each.offset_data, each.size
    except tarfile.TarError as error:
        raise ValueError(str(error) or type(error).__name__) from error
    _follow(members, links)
    return members


def _normal(name: str) -> str:
    """Return a path without the parts that lead nowhere (``./a//b`` is ``a/b``)."""
    if "//" in name or "./" in name or name.endswith(("/", "/.")):
        return "/".join(part for part in name.split("/") if part not in ("", "."))
    return name


class _Decompressor(Protocol):
    """What ``bz2`` and ``lzma`` call their decompressors."""

    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return up to so many bytes."""


class _Zlib:
    """The decompressor of gzip and zip files with the interface of the others."""

    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)
        self.eof = False
        self.needs_input = True
        self.unused_data = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return up to so many bytes."""
        found = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        self.eof, self.unused_data = self._zlib.eof, self._zlib.unused_data
        self.needs_input = not self._zlib.unconsumed_tail
        return found


_COMPRESSED: dict[bytes, Callable[[], Any]] = {
    b"\x1f\x8b": lambda: _Zlib(zlib.MAX_WBITS | 16),
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ": lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY),
}


def _expanded(file: FilePart) -> FilePart:
    """Return an archive that can be read at any place: a compressed one is unpacked once into a passing file."""
    start = file.read(min(8, file.size))
    file.seek(0)
    new = next((new for mark, new in _COMPRESSED.items() if start.startswith(mark)), None)
    if new is None:
        return file
    with contextlib.closing(file):
        return _passing(_decompressed(file, new), file.size)


def _decompressed(file: FilePart, new: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Yield what a compressed file holds; several streams one after the other are one content."""
    left = b""
    while True:
        engine = new()
        while not engine.eof:
            data = left or (file.read(_CHUNK) if engine.needs_input else b"")
            is_starved, left = engine.needs_input and not data, b""
            found = engine.decompress(data, _BLOCK)
            if not found and is_starved:
                raise EOFError("it ends too early")
            if found:
                yield found
        left = engine.unused_data.lstrip(b"\0") or file.read(_CHUNK).lstrip(b"\0")  # programs pad with zeros
        if not left:
            return


def _passing(content: Iterator[bytes], packed: int) -> FilePart:
    """Write a content to a file that is gone when it is closed."""
    import tempfile  # which few bundles need: most hold their wheels as they are

    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the window closes it
    try:
        for block in bounded(content, passing_allowance(packed)):
            file.write(block)
        return FilePart(file, 0, file.tell(), is_owner=True)
    except BaseException:
        file.close()
        raise
