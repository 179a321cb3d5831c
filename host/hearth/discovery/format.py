"""Bundle formats, which packages can add without changing the host.

A package installed with the host registers an object under an entry point of the group ``hearth``. Its
``hearth_read_bundle`` is called before the built-in formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path

import pluggy

from hearth.discovery.archive import TarTree, ZipTree
from hearth.discovery.bundle import Bundle
from hearth.discovery.bundle_kind import read_bundle
from hearth.discovery.metadata import distributions_here, parse_entry_points
from hearth.discovery.tree import DirectoryTree, FilePart, open_file

PROJECT = "hearth"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

_TAR_ENDINGS = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar")


class BundleFormat:
    """Interface of a bundle format; the entry point may be an object or a module."""

    @hookspec(firstresult=True)
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read the bundle at ``location``, which exists; return ``None`` if it is not of this format.

        Called for each candidate of plugin.path, possibly from several threads; the first result wins. Must not run
        code of the bundle. Raise ``BundleError`` (reason, ``hint=``) if it is of this format but unusable.
        """


class DirectoryFormat:
    """A directory: an unpacked bundle, wheels, packages next to their ``.dist-info`` folders, or Java archives."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read any directory."""
        if not location.is_dir():
            return None
        return read_bundle(location, partial(DirectoryTree, location))


class WheelFormat:
    """A single wheel."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read a file with a wheel's extension."""
        if not _is_file(location, ".whl"):
            return None
        return read_bundle(location, partial(SingleFileTree, location))


class ZipFormat:
    """A zip file with the same content as a directory."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read a file whose name ends in ``.zip``."""
        if not _is_file(location, ".zip"):
            return None
        return read_bundle(location, partial(ZipTree, location))


class TarFormat:
    """A tar archive, compressed or not, with the same content as a directory."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read a file with a tar archive's extension."""
        if not _is_file(location, *_TAR_ENDINGS):
            return None
        return read_bundle(location, partial(TarTree, location))


class JavaArchiveFormat:
    """A single Java archive."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read a file whose name ends in ``.jar``."""
        if not _is_file(location, ".jar"):
            return None
        return read_bundle(location, partial(SingleFileTree, location))


class SingleFileTree(DirectoryTree):
    """The directory of a file, such as a wheel, showing only that file."""

    def __init__(self, file: Path) -> None:
        super().__init__(file.parent)
        self._file, self._name = file, file.name

    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Return only the file."""
        return [self._name], []

    def walk(self, folder: str = "") -> Iterator[str]:
        """Yield only the file; links are not followed."""
        yield self._name

    def open_archive(self, path: str) -> FilePart:
        """Open the file."""
        return open_file(self._file)


BUILT_IN = {
    "directory": DirectoryFormat(),
    "wheel": WheelFormat(),
    "zip": ZipFormat(),
    "tar": TarFormat(),
    "java": JavaArchiveFormat(),
}


@lru_cache(maxsize=1)
def bundle_formats() -> pluggy.PluginManager:
    """Return the registered formats: the built-in ones, and before them those of installed packages."""
    formats = pluggy.PluginManager(PROJECT)
    formats.add_hookspecs(BundleFormat)
    for name, format_ in BUILT_IN.items():
        formats.register(format_, name)
    if any(point.group == PROJECT for _, points in distributions_here() for point in parse_entry_points(points)):
        formats.load_setuptools_entrypoints(PROJECT)  # reads the metadata of all distributions again
    return formats


def _is_file(location: Path, *endings: str) -> bool:
    return location.name.lower().endswith(endings) and not location.is_dir()
