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
from hearth.discovery.bundle import Bundle, read_bundle
from hearth.discovery.metadata import distributions_here, parse_entry_points
from hearth.discovery.refusal import BundleError
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
    """A directory: an unpacked bundle, wheels, or packages next to their ``.dist-info`` folders."""

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
        return read_bundle(location, partial(SingleWheelTree, location))


class ZipFormat:
    """A zip file of a bundle, of wheels, or of packages next to their ``.dist-info`` folders."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read a file whose name ends in ``.zip``."""
        if not _is_file(location, ".zip"):
            return None
        return read_bundle(location, partial(ZipTree, location))


class TarFormat:
    """A compressed tar archive with the same content as a zip file."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Read a file with a tar archive's extension."""
        if not _is_file(location, *_TAR_ENDINGS):
            return None
        return read_bundle(location, partial(TarTree, location))


class JavaArchiveFormat:
    """A Java archive, rejected with a clear message for users who move a plugin.path from Java Connect."""

    @hookimpl
    def hearth_read_bundle(self, location: Path) -> Bundle | None:
        """Refuse a file whose name ends in ``.jar``."""
        if not _is_file(location, ".jar"):
            return None
        raise BundleError(
            "it is a Java archive", hint="Hearth runs Python plugins; Java connectors stay with Java Connect"
        )


class SingleWheelTree(DirectoryTree):
    """The directory of a wheel, showing only that wheel."""

    def __init__(self, wheel: Path) -> None:
        super().__init__(wheel.parent)
        self._wheel, self._name = wheel, wheel.name

    def children(self, folder: str = "") -> tuple[list[str], list[str]]:
        """Return only the wheel."""
        return [self._name], []

    def walk(self, folder: str = "") -> Iterator[str]:
        """Yield only the wheel; links are not followed."""
        yield self._name

    def open_archive(self, path: str) -> FilePart:
        """Open the wheel."""
        return open_file(self._wheel)


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
