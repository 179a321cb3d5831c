"""Sample bundles, good and broken, built on the fly from the small projects beside this file.

``wheel(name)`` builds a project's wheel, ``packed(name)`` a whole bundle with ``hearth bundle pack``'s own code; each
is built once per test session. ``truncated``, ``traversal`` and ``without_metadata`` make bundles that no tool would.
"""

from __future__ import annotations

import atexit
import io
import shutil
import tarfile
import tempfile
import zipfile
from functools import lru_cache
from pathlib import Path

from hearth.isolation.environment import EnvironmentStore
from hearth.packaging.pack import pack
from hearth.packaging.project import build_wheel

SOURCES = Path(__file__).parent
LIBRARIES = ("greeting_1", "greeting_2")
"""Projects that are no bundles but what bundles need."""


@lru_cache(maxsize=1)
def scratch() -> Path:
    """Return a directory that lives as long as the test session."""
    folder = Path(tempfile.mkdtemp(prefix="hearth-bundles-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=1)
def environments() -> EnvironmentStore:
    """Return the store of environments that all tests of a session share."""
    return EnvironmentStore(scratch() / "environments")


@lru_cache(maxsize=None)
def wheel(name: str) -> Path:
    """Return the wheel of a sample project."""
    out = scratch() / "wheels" / name
    out.mkdir(parents=True)
    source = scratch() / "sources" / name
    shutil.copytree(SOURCES / name, source, ignore=shutil.ignore_patterns("__pycache__"))
    return build_wheel(source, out, offline=True)


@lru_cache(maxsize=None)
def packed(name: str) -> Path:
    """Return a sample project as a packed bundle (zip)."""
    out = scratch() / "packed"
    out.mkdir(exist_ok=True)
    libraries = [wheel(library).parent for library in LIBRARIES]
    return pack(SOURCES / name, out, environments(), libraries, offline=True)


def plugin_path(*names: str) -> Path:
    """Return a new directory for plugin.path that holds the packed bundles of the given names."""
    folder = Path(tempfile.mkdtemp(prefix="plugin-path-", dir=scratch()))
    for name in names:
        shutil.copy(packed(name), folder)
    return folder


def truncated(folder: Path) -> Path:
    """Make a wheel of which only the first half arrived."""
    whole = wheel("greeting_transform")
    target = folder / whole.name
    target.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    return target


def traversal(folder: Path) -> Path:
    """Make a zip file that would write beside the folder it is unpacked into."""
    target = folder / "traversal.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.write(wheel("greeting_transform"), "wheels/" + wheel("greeting_transform").name)
        archive.writestr("../outside.py", "print('outside')")
    return target


def traversal_tar(folder: Path) -> Path:
    """Make a tar archive that would write to an absolute path."""
    target = folder / "traversal.tar.gz"
    with tarfile.open(target, "w:gz") as archive:
        entry = tarfile.TarInfo("/outside.py")
        entry.size = 1
        archive.addfile(entry, io.BytesIO(b"\n"))
    return target


def without_metadata(folder: Path) -> Path:
    """Make a wheel whose METADATA is missing."""
    whole = wheel("greeting_transform")
    target = folder / whole.name
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            if not name.endswith("/METADATA"):
                copy.writestr(name, source.read(name))
    return target
