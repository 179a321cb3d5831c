"""Sends Hearth and its dependencies to executors that have only a Python.

They are sent once, as a Spark archive, which Spark unpacks into the executor's directory before it starts any Python.
Packages that Spark includes are left out, and so are large ones that only a host uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from importlib_metadata import Distribution
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HOST = "hearth-connect"
STAYING = frozenset({"pyspark", "py4j", "uv"})
NAME = "hearth"
"""The directory that Spark unpacks it to."""
IMPORT_PATH = f"{NAME}/site-packages"
"""The import path of the unpacked archive, relative to the working directory of an executor's Python.

Stages look for the packages of their base layer in directories of this name.
"""
_OWN_FOLDER = re.compile(r"[A-Za-z_]\w*")


def ship_host(context: Any) -> None:
    """Add the archive to a Spark application; executors fetch it before their next task."""
    context.addArchive(f"{write_host_archive(Path(context._temp_dir, 'host.zip'))}#{NAME}")


def write_host_archive(archive: Path) -> Path:
    """Write the archive of about 100 MB, which takes seconds."""
    with ZipFile(archive, "w", ZIP_DEFLATED, compresslevel=1) as file:
        names = set()
        for path, name in sorted({(path, name) for each in _distributions() for path, name in _files(each)}):
            if name not in names:
                names.add(name)
                file.write(path, f"{Path(IMPORT_PATH).name}/{name}")
    return archive


def _distributions() -> Iterator[Distribution]:
    """Yield the installed distributions of the host and of its dependencies, transitively."""
    names, done = [HOST], set(STAYING)
    for name in names:  # grows during the iteration
        if name in done:
            continue
        done.add(name)
        found = Distribution.from_name(name)
        yield found
        needed = map(Requirement, found.requires or ())
        names += [
            canonicalize_name(each.name)
            for each in needed
            if each.marker is None or each.marker.evaluate({"extra": ""})
        ]


def _files(distribution: Distribution) -> Iterator[tuple[Path, str]]:
    """Yield the files of a distribution with their names on an import path; all packages for an editable install."""
    for file in distribution.files or ():
        path = Path(str(distribution.locate_file(file)))
        if file.suffix == ".pth":
            for folder in path.read_text(encoding="utf-8").split("\n"):
                yield from _packages(Path(folder.strip()))
        elif ".." not in file.parts and "__pycache__" not in file.parts and path.is_file():
            yield path, file.as_posix()


def _packages(folder: Path) -> Iterator[tuple[Path, str]]:
    if not folder.is_absolute():
        return
    for package in sorted(folder.iterdir()):
        if _OWN_FOLDER.fullmatch(package.name) and (package / "__init__.py").is_file():
            for path in sorted(package.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path, path.relative_to(folder).as_posix()
