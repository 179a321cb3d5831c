"""Bundles on plugin.path: what every kind of bundle has in common.

A kind (``python_bundle``, ``java``) recognises its layouts in any tree and says which files make up a bundle.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, ClassVar, TypeVar

from hearth.discovery.declaration import Declaration
from hearth.discovery.refusal import COPY_AGAIN, BundleError
from hearth.discovery.tree import Opener, Reading, Tree, blocks, check_path, is_ignored

if TYPE_CHECKING:
    from hearth.discovery.core_metadata import CoreMetadata
    from hearth.discovery.manifest import Manifest

AnyBundle = TypeVar("AnyBundle", bound="Bundle")


@dataclass(frozen=True, kw_only=True)
class Bundle(ABC):
    """A readable bundle: its plugins and access to its files."""

    kind: ClassVar[str]
    """The language of its plugins: ``python`` or ``java``."""

    fault_hint: ClassVar[str] = "correct the entry points of the project and pack it again"
    tolerates_faults: ClassVar[bool] = False
    """Whether a bundle with faults counts as whole, because Java Connect only logs them."""

    location: Path
    name: str
    version: str
    declarations: tuple[Declaration, ...] = field(compare=False)
    faults: tuple[str, ...] = field(default=(), compare=False)
    """Errors in single plugins; the other plugins are usable."""
    notes: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """What users should know of a usable bundle before they run it."""
    top: str = field(default="", compare=False, repr=False)
    """The top-level folder in the tree that contains everything, ``""`` for none."""
    hashes: dict[str, str] | None = field(default=None, compare=False, repr=False)
    """SHA-256 of each packed file by path; ``None`` without a manifest."""
    opener: Opener = field(compare=False, repr=False)
    stamp: int = field(default=0, repr=False)
    """Stamp of the files, which changes when other files replace them at the location."""

    @property
    def is_current(self) -> bool:
        """Return whether the files have not changed since they were read."""
        return self.stamp == stamp_of(self.location, self.top)

    @property
    def identity(self: AnyBundle) -> AnyBundle:
        """Return the part that distinguishes this bundle from an earlier one at the same location."""
        return self

    @property
    def is_hashed(self) -> bool:
        """Return whether hashes that came with the bundle cover its files."""
        return self.hashes is not None

    def is_described_by(self, manifest: Manifest) -> bool:
        """Return whether it was read from a manifest with this content."""
        return (self.name, self.version, self.hashes) == (manifest.name, manifest.version, manifest.hashes)

    @property
    @abstractmethod
    def form(self) -> str:
        """Return its layout, in words for messages."""

    @property
    @abstractmethod
    def requires(self) -> str:
        """Return the versions of the language that it needs, ``""`` for any."""

    @abstractmethod
    def files(self, tree: Tree) -> list[str]:
        """Return the files that make up the environment."""

    @abstractmethod
    def packages(self) -> Iterator[CoreMetadata]:
        """Yield the metadata of each package in the bundle, in path order."""

    @property
    def undescribed(self) -> tuple[Declaration, ...]:
        """Return the plugins whose version only they themselves can say, and have not said yet."""
        return ()

    def remember(self, versions: Mapping[str, str]) -> None:
        """Keep the versions that such plugins returned, by class name, for later listings."""
        raise NotImplementedError(f"the metadata of a {self.kind} bundle has the versions")

    def digest(self) -> str:
        """Return a hash of the content: over the manifest's hashes if there are any, else over the files."""
        import hashlib  # not needed to list bundles

        digest = hashlib.sha256()
        with self.opener() as tree:
            for path in self.files(tree):
                relative = self.relative(path)
                known = None if self.hashes is None else self.hashes.get(relative)
                digest.update(os.fsencode(f"{relative} {known or hash_of(tree, path)}\n"))
        return digest.hexdigest()

    def relative(self, path: str) -> str:
        """Return a path of the tree relative to the bundle's top folder, as the manifest lists it."""
        return path[len(self.top) :].lstrip("/")

    def unpack(self, target: Path) -> None:
        """Copy the files that make up the environment into ``target``.

        Raises ``BundleError`` for a file that does not match the manifest or cannot be read.
        """
        with self.opener() as tree:
            for path in self.files(tree):
                relative = self.relative(path)
                copied = target / check_path(self.unpacked_name(path))
                found = _copy(tree, path, copied)
                if self.hashes is not None and self.hashes.get(relative) != found:
                    raise BundleError(f"{path} is not the file that was packed", hint=COPY_AGAIN)
                self.check_unpacked(path, copied)

    def unpacked_name(self, path: str) -> str:
        """Return the path of a file in the directory that the bundle is unpacked into."""
        return self.relative(path)

    def check_unpacked(self, path: str, file: Path) -> None:
        """Raise ``BundleError`` if an unpacked file cannot be used; ``path`` is its path in the tree."""
        return


def stamp_of(location: Path, top: str = "") -> int:
    """Return a stamp that changes when a file is replaced or a directory's entries change.

    For a directory the entries of its folder ``top`` count. A missing location has stamp 0.
    """
    try:
        found = os.stat(location)
        if not stat.S_ISDIR(found.st_mode):
            return hash(_stat_stamp(found))
        with os.scandir(location / top) as entries:
            return hash(tuple(sorted((each.name, *_stamp(each)) for each in entries if not is_ignored(each.name))))
    except OSError:
        return 0


def _stamp(file: os.DirEntry[str]) -> tuple[int, ...]:
    try:
        return _stat_stamp(file.stat())
    except OSError:
        return ()  # a link to nothing


def _stat_stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def plain_name(name: str) -> str:
    """Return a distribution's name as its file names spell it."""
    return re.sub(r"[-_.]+", "_", name).lower()


def file_name(path: str) -> str:
    """Return the last part of a path inside a bundle."""
    return path.rpartition("/")[2]


def join(folder: str, name: str) -> str:
    """Return the path of a name in a folder of a tree."""
    return f"{folder}/{name}" if folder else name


def _copy(tree: Tree, path: str, target: Path) -> str:
    """Copy one file and return its SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as copy:
        return hash_of(tree, path, copy)


def hash_of(tree: Tree, path: str, copy: IO[bytes] | None = None) -> str:
    """Return the SHA-256 of a file, and copy the file if asked."""
    import hashlib

    digest = hashlib.sha256()
    with Reading(f"{path} is damaged"), contextlib.closing(tree.open(path)) as source:
        for block in blocks(source):
            digest.update(block)
            if copy is not None:
                copy.write(block)
    return digest.hexdigest()
