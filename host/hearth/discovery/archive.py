"""Trees over untrusted archives: zip files, wheels and tar archives.

The number of files, their unpacked size and their names are validated before they are used. Only small files
are read whole.
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

from hearth.discovery.bundle_limits import MAX_FILES, MAX_PATH, bundle_limits, listing_limit
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
"""Compression methods used in wheels; other methods can need gigabytes of memory to unpack."""
_ENCRYPTED = 0x1
_INTERPRETER = re.compile(r"(^|/)bin/python[0-9.]*$")
VENV_HINT = "name a virtual environment by its directory instead of archiving it, or pack the project"
_LINKS = 40
"""Maximum length of a chain of links, as in Linux."""
_HEADER = struct.Struct("<4s22xHH")
"""Local header of a zip member: the signature, and at the end the lengths of the two variable fields."""
_CHUNK, _BLOCK = 1 << 14, 1 << 20
_IN_MEMORY = 8 << 20
_XZ_MEMORY = 128 << 20
"""Twice the memory that the strongest xz preset needs."""

Member = TypeVar("Member")


class ArchiveTree(Tree):
    """An archive, whose index is read once. A name or link that leaves the archive makes all of it unusable.

    A link to a file in the archive reads as that file; links to folders are left out.
    """

    def _enter(self, names: Iterable[str]) -> None:
        """Index the paths of the regular files by folder."""
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
        """Return the folder's entry in the index."""
        return self._index.get(folder, ([], []))


class ZipTree(ArchiveTree):
    """A zip file or a wheel, on disk or inside another bundle."""

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
        """Open a stored member in place, a compressed one as an unpacked copy."""
        member = self._members[path]
        if member.compress_type == zipfile.ZIP_STORED:
            return FilePart(self._file, self._start_of(member), member.compress_size)
        with Reading(f"{path} is damaged"), contextlib.closing(self.open(path)) as source:
            return _temporary(blocks(source), member.compress_size)

    def size(self, path: str) -> int:
        """Return the size that the index declares."""
        return self._members[path].file_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def check(self) -> None:
        """Read every member; raise for a damaged file or one larger than its declared size.

        Installers notice this only after writing the files.
        """
        for path in self._members:
            with Reading(f"{path} is damaged"):
                for _ in blocks(self.open(path)):
                    pass

    def _target_of(self, link: zipfile.ZipInfo) -> str:
        """Return the target of a link, which is the member's content."""
        with Reading(f"{link.filename} is damaged"):
            return b"".join(bounded(self._content(link), MAX_PATH)).decode("utf-8", "surrogateescape")

    def _content(self, member: zipfile.ZipInfo) -> Iterator[bytes]:
        packed = FilePart(self._file, self._start_of(member), member.compress_size)
        is_stored = member.compress_type == zipfile.ZIP_STORED
        return blocks(packed) if is_stored else _decompressed(packed, lambda: _Zlib(-zlib.MAX_WBITS))

    def _start_of(self, member: zipfile.ZipInfo) -> int:
        """Return the offset of a member's content, after its local header, whose length the index does not contain."""
        with Reading(f"{member.filename} is damaged"):
            self._file.seek(member.header_offset)
            mark, name, extra = _HEADER.unpack(self._file.read(_HEADER.size))
            if mark != b"PK\3\4":
                raise ValueError("it has no header")
        return int(member.header_offset + _HEADER.size + name + extra)


class _Content:
    """The content of a zip member, checked at its end against the size and CRC in the index."""

    def __init__(self, path: str, member: zipfile.ZipInfo, content: Iterator[bytes]) -> None:
        self._path = path
        self._wanted = member.file_size, member.CRC
        self._content = bounded(content, member.file_size)
        self._block = b""
        self._found = 0, 0

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes."""
        if not self._block:
            self._block = next(self._content, b"")
            length, checksum = self._found
            self._found = length + len(self._block), zlib.crc32(self._block, checksum)
            if not self._block and self._found != self._wanted:
                raise BundleError(f"{self._path} does not match the archive's index", hint=COPY_AGAIN)
        found, self._block = self._block[:size], self._block[size:]
        return found

    def close(self) -> None:
        """Do nothing: the archive stays open for other readers."""


class TarTree(ArchiveTree):
    """A tar archive, compressed or not. Devices, pipes and other special files are ignored."""

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
        """Open a member in place."""
        return self.open_archive(path)

    def open_archive(self, path: str) -> FilePart:
        """Open a member in place."""
        return FilePart(self._file, *self._members[path])

    def size(self, path: str) -> int:
        """Return the size that the index declares."""
        return self._members[path][1]

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _folder(index: dict[str, tuple[list[str], list[str]]], name: str) -> tuple[list[str], list[str]]:
    """Return a folder's entry in the index; create it and its parents if missing."""
    found = index.get(name)
    if found is None:
        _folder(index, name.rpartition("/")[0])[1].append(name)
        found = index[name] = ([], [])
    return found


def _refuse_clashes(names: Iterable[str]) -> None:
    """Raise for names that differ only in case and so clash on a case-insensitive file system."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.lower() if name.isascii() else name.casefold(), name)
        if other != name:
            raise BundleError(f"it holds {other!r} and {name!r}, which are one file on some machines", hint=REPACK)


def _follow(members: dict[str, Member], links: Mapping[str, tuple[str, str]]) -> None:
    """Resolve links to files of the archive; ``links`` maps each path to its folder and its relative target."""
    targets = {path: _link_target(path, place, target) for path, (place, target) in links.items()}
    for path, target in targets.items():
        for _ in range(_LINKS):
            if target not in targets:
                break
            target = targets[target]
        if target in members:
            members[path] = members[target]


def _link_target(path: str, place: str, target: str) -> str:
    """Return the path that a link points to; raise if it is outside the archive."""
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
        reason = f"it holds the link {quoted(path)} to {quoted(target)}, which points outside the archive"
        raise BundleError(reason, hint=VENV_HINT if _INTERPRETER.search(path) else "do not install it")
    return "/".join(found)


def _checked(
    found: list[zipfile.ZipInfo], packed: int
) -> tuple[dict[str, zipfile.ZipInfo], dict[str, zipfile.ZipInfo]]:
    """Return the regular files of a zip file by path, and its links."""
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
        raise BundleError(f"its {packed} bytes unpack to {total}, which is more than the limit", hint=REPACK)
    return members, links


def _members(file: FilePart) -> dict[str, tuple[int, int]]:
    """Return the offset and size of each regular file of a tar archive by path."""
    import tarfile  # few bundles are tar archives; other hosts save the memory

    members: dict[str, tuple[int, int]] = {}
    links: dict[str, tuple[str, str]] = {}
    try:
        with tarfile.open(fileobj=file, mode="r:") as archive:  # type: ignore[call-overload]
            for number, each in enumerate(archive):
                if number >= MAX_FILES:  # in older releases of the standard library a header can point to itself
                    raise too_many_files()
                path = _normal(check_path(each.name))
                if each.issparse():
                    raise BundleError(f"{path} is a sparse file, which cannot be read", hint=REPACK)
                if path in members or path in links:
                    raise BundleError(f"it holds {path!r} twice", hint=REPACK)
                if each.issym() or each.islnk():
                    links[path] = (
                        path if each.issym() else "",
                        each.linkname,
                    )  # the target of a hard link is relative to the archive's root
                elif each.isreg():
                    if not 0 <= each.size <= file.size - each.offset_data:
                        raise EOFError(f"{path} is truncated")
                    members[path] = each.offset_data, each.size
    except tarfile.TarError as error:
        raise ValueError(str(error) or type(error).__name__) from error
    _follow(members, links)
    return members


def _normal(name: str) -> str:
    """Return a normalised path (``./a//b`` becomes ``a/b``)."""
    if "//" in name or "./" in name or name.endswith(("/", "/.")):
        return "/".join(part for part in name.split("/") if part not in ("", "."))
    return name


class _Decompressor(Protocol):
    """The decompressor interface of ``bz2`` and ``lzma``."""

    eof: bool
    needs_input: bool
    unused_data: bytes

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return up to ``size`` bytes."""


class _Zlib:
    """A gzip and deflate decompressor with the interface of ``bz2`` and ``lzma``."""

    def __init__(self, wbits: int) -> None:
        self._zlib = zlib.decompressobj(wbits)
        self.eof = False
        self.needs_input = True
        self.unused_data = b""

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return up to ``size`` bytes."""
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
    """Return a seekable archive; a compressed one is unpacked once into a temporary file."""
    start = file.read(min(8, file.size))
    file.seek(0)
    new = next((new for mark, new in _COMPRESSED.items() if start.startswith(mark)), None)
    if new is None:
        return file
    with contextlib.closing(file):
        return _temporary(_decompressed(file, new), file.size)


def _decompressed(file: FilePart, new: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Yield the decompressed content of a file; concatenated streams are read as one."""
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


def _temporary(content: Iterator[bytes], packed: int) -> FilePart:
    """Write content to a temporary file, which is deleted when it is closed."""
    import tempfile  # rarely needed: most bundles store their wheels uncompressed

    file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - the window closes it
    try:
        for block in bounded(content, listing_limit(packed)):
            file.write(block)
        return FilePart(file, 0, file.tell(), is_owner=True)
    except BaseException:
        file.close()
        raise
