"""Sample bundles, good and broken, built on demand from the small projects in this folder.

``wheel(name)`` builds a project's wheel, ``packed(name)`` a whole bundle as ``hearth bundle pack`` does; each is
built once in a run, whatever its number of processes. ``truncated``, ``traversal`` and ``without_metadata`` make bundles that no tool would.
``plain_wheel`` writes a wheel in a millisecond, for tests that only read.
"""

from __future__ import annotations

import atexit
import io
import json
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from hearth.discovery.manifest import MANIFEST
from hearth.isolation.environment_store import EnvironmentStore
from hearth.packaging.pack import pack
from hearth.packaging.project import build_wheel
from tests.shared_folder import built_once

SOURCES = Path(__file__).parent
LIBRARIES = ("greeting_1", "greeting_2")
"""Projects that are not bundles but their dependencies."""


@cache
def scratch() -> Path:
    """Return a directory that exists until the test session ends."""
    folder = Path(tempfile.mkdtemp(prefix="hearth-bundles-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def environments() -> EnvironmentStore:
    """Return the environment store shared by all tests of a session."""
    return EnvironmentStore(scratch() / "environments")


@cache
def wheel(name: str) -> Path:
    """Return the wheel of a sample project."""

    def build(out: Path) -> None:
        source = scratch() / "sources" / name
        shutil.copytree(SOURCES / name, source, ignore=shutil.ignore_patterns("__pycache__"))
        build_wheel(source, out, offline=True)

    (made,) = built_once(f"wheels/{name}", build).iterdir()
    return made


@cache
def packed(name: str) -> Path:
    """Return a sample project as a packed bundle (zip)."""
    libraries = [wheel(library).parent for library in LIBRARIES]
    build = partial(pack, SOURCES / name, environments=environments(), find_links=libraries, offline=True)
    (made,) = built_once(f"packed/{name}", build).iterdir()
    return made


def plugin_path(*names: str) -> Path:
    """Return a new directory for plugin.path with the packed bundles of the given names."""
    folder = Path(tempfile.mkdtemp(prefix="plugin-path-", dir=scratch()))
    for name in names:
        shutil.copy(packed(name), folder)
    return folder


def index(folder: Path, wheels: Mapping[Path, str]) -> str:
    """Make a package index of wheels (PEP 503) and return its address; the values are link attributes (PEP 592)."""
    pages: dict[str, list[str]] = {}
    for wheel, mark in wheels.items():
        name = wheel.name.partition("-")[0].replace("_", "-")
        (folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, folder / name)
        pages.setdefault(name, []).append(f'<a href="{wheel.name}" {mark}>{wheel.name}</a>')
    for name, links in pages.items():
        (folder / name / "index.html").write_text("<!DOCTYPE html>" + "".join(links))
    return folder.as_uri()


def lacking(folder: Path) -> Path:
    """Make a packed bundle without its required library, like one packed for another platform."""
    shutil.unpack_archive(packed("greeting_source"), folder / "lacking")
    (folder / "lacking" / "wheels" / "greeting-1.0-py3-none-any.whl").unlink()
    path = folder / "lacking" / MANIFEST
    members = json.loads(path.read_text())
    members["files"] = [each for each in members["files"] if "greeting-1.0" not in each["path"]]
    path.write_text(json.dumps(members))
    return Path(shutil.make_archive(str(folder / "lacking"), "zip", folder / "lacking"))


def truncated(folder: Path) -> Path:
    """Make a truncated wheel."""
    whole = wheel("greeting_transform")
    target = folder / whole.name
    target.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    return target


def traversal(folder: Path) -> Path:
    """Make a zip file that would write outside the folder it is unpacked into."""
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
    """Make a wheel without METADATA."""
    whole = wheel("greeting_transform")
    target = folder / whole.name
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            if not name.endswith("/METADATA"):
                copy.writestr(name, source.read(name))
    return target


def plain_wheel(
    folder: Path,
    name: str,
    version: str = "1.0",
    groups: Mapping[str, Mapping[str, str]] | None = None,
    requires_python: str = ">=3.10",
    requires: tuple[str, ...] = (),
    code: str = "",
) -> Path:
    """Write a wheel with one module, entry points and metadata."""
    module, target = name.replace("-", "_"), folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    files = {f"{module}.py": code, **dist_info(name, version, groups or {}, requires_python, requires)}
    record = "".join(f"{path},,\n" for path in files) + f"{module}-{version}.dist-info/RECORD,,\n"
    with zipfile.ZipFile(target, "w") as archive:
        for path, text in {**files, f"{module}-{version}.dist-info/RECORD": record}.items():
            entry = zipfile.ZipInfo(path)  # a fixed date: equal wheels are byte-identical
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text)
    return target


def site(folder: Path, name: str, version: str = "1.0", groups: Mapping[str, Mapping[str, str]] | None = None) -> Path:
    """Write a package and its metadata to a directory, as ``pip install --target`` does."""
    files = {f"{name.replace('-', '_')}.py": "", **dist_info(name, version, groups or {})}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def zip_folder(folder: Path, target: Path) -> Path:
    """Write everything below a folder to a zip file."""
    with zipfile.ZipFile(target, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return target


def dist_info(
    name: str,
    version: str,
    groups: Mapping[str, Mapping[str, str]],
    requires_python: str = ">=3.10",
    requires: tuple[str, ...] = (),
) -> dict[str, str]:
    """Return the files of a ``.dist-info`` folder."""
    folder = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Python: {requires_python}\n"
    points = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items()) + "\n"
        for group, rows in groups.items()
    )
    return {
        f"{folder}/METADATA": metadata + "".join(f"Requires-Dist: {each}\n" for each in requires),
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{folder}/entry_points.txt": points,
    }
