"""Java archives inside a bundle, and directories of class files, with one interface."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial

from hearth.discovery.bundle_limits import MAX_CLASS, MAX_FILES
from hearth.discovery.refusal import COPY_AGAIN, BundleError, quoted
from hearth.discovery.tree import FilePart, Reading, Tree, blocks, bounded, too_many_files

CLASS = ".class"
SERVICES = "META-INF/services/"
MANIFEST_FILE = "META-INF/MANIFEST.MF"
_STORED, _DEFLATED, _ENCRYPTED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, 0x1


class ClassRoot(ABC):
    """One element of a class path: named files, of which classes and service manifests are read."""

    def __init__(self, path: str, names: Iterable[str], packed: int = 0, unpacked: int = 0) -> None:
        """``path`` is the element's path in the bundle, ``""`` for the bundle itself.

        ``packed`` is the size of an archive in bytes, ``unpacked`` that of its classes and service manifests.
        """
        self.path = path
        self.names = tuple(names)
        self.packed, self.unpacked = packed, unpacked

    @abstractmethod
    def read(self, name: str, limit: int = MAX_CLASS) -> bytes:
        """Return the content of a file; raise ``BundleError`` if it is damaged or larger than the limit."""

    @abstractmethod
    def checksum(self, name: str) -> int | None:
        """Return a checksum of a file that is known without reading the file."""

    def where(self, name: str) -> str:
        """Return the place of a file for messages."""
        return f"{self.path}: {name}" if self.path else name

    def close(self) -> None:
        """Release the files."""
        return


class JavaArchive(ClassRoot):
    """A jar. Only what decides on plugins is checked; other entries may be as Java tolerates them."""

    def __init__(self, path: str, file: FilePart) -> None:
        self._file = file
        with Reading(f"{path} is truncated or not a Java archive"):
            found = zipfile.ZipFile(file).infolist()
        if len(found) > MAX_FILES:
            raise too_many_files()
        self._members: dict[str, zipfile.ZipInfo] = {}
        total = 0
        for each in found:
            if _decides(each.filename):
                if each.filename in self._members:
                    raise BundleError(f"{path} holds {quoted(each.filename)} twice", hint="remove one of them")
                total += each.file_size
            self._members[each.filename] = each
        super().__init__(path, self._members, file.size, total)

    def read(self, name: str, limit: int = MAX_CLASS) -> bytes:
        """Unpack one entry and compare it with the index."""
        member, where = self._members[name], self.where(name)
        if member.file_size > limit or member.compress_size > limit:
            raise BundleError(f"{where} has {member.file_size} bytes, more than the limit of {limit}")
        if member.compress_type not in (_STORED, _DEFLATED) or member.flag_bits & _ENCRYPTED:
            raise BundleError(f"{where} is encrypted or compressed in a way that is not read")
        with Reading(f"{where} is damaged"):
            content = self._packed(member)
            if member.compress_type == _DEFLATED:
                content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, member.file_size + 1)
        if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
            raise BundleError(f"{where} does not match the archive's index", hint=COPY_AGAIN)
        return content

    def _packed(self, member: zipfile.ZipInfo) -> bytes:
        self._file.seek(member.header_offset)
        header = self._file.read(30)
        if len(header) < 30 or header[:4] != b"PK\3\4":
            raise ValueError("it has no header")
        fields = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        self._file.seek(member.header_offset + 30 + fields)
        return self._file.read(member.compress_size)

    def checksum(self, name: str) -> int | None:
        """Return the CRC that the index has."""
        return self._members[name].CRC

    def close(self) -> None:
        """Close the jar."""
        self._file.close()


class ClassFolder(ClassRoot):
    """A directory of class files, which Java calls a class hierarchy."""

    def __init__(self, tree: Tree, top: str) -> None:
        start = len(top) + 1 if top else 0
        super().__init__("", (path[start:] for path in tree.walk(top)))
        self._tree, self._prefix = tree, f"{top}/" if top else ""

    def read(self, name: str, limit: int = MAX_CLASS) -> bytes:
        """Read one file of the tree."""
        with Reading(f"{name} is damaged"), contextlib.closing(self._tree.open(self._prefix + name)) as file:
            return b"".join(bounded(blocks(file), limit))

    def checksum(self, name: str) -> int | None:
        """Return nothing: one directory has no class twice."""


Root = Callable[[], ClassRoot]


def roots_of(tree: Tree, top: str, archives: Iterable[str]) -> list[Root]:
    """Return what opens each element of a class path: the archives, or else the directory itself."""
    start = len(top) + 1 if top else 0
    found: list[Root] = [partial(_opened, tree, path, path[start:]) for path in archives]
    return found or [partial(ClassFolder, tree, top)]


def _opened(tree: Tree, path: str, relative: str) -> JavaArchive:
    with Reading(f"{relative} is damaged"):
        file = tree.open_archive(path)
    try:
        return JavaArchive(relative, file)
    except BaseException as error:
        file.close()
        if isinstance(error, BundleError) and relative not in str(error):
            raise BundleError(f"{relative}: {error}", hint=error.hint) from error
        raise


def _decides(name: str) -> bool:
    return name.endswith(CLASS) or name.startswith(SERVICES) or name == MANIFEST_FILE
