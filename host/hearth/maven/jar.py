"""Caches jars of Maven's repositories for this user, so that they are downloaded once.

A lock file lists every jar by coordinates, size and SHA-256. The cache is one directory of jars that several locks
share. A jar is renamed into it after its hash was checked, so every jar in the cache is complete, an interrupted
download leaves no partial jar, and another call costs one `stat` per jar and no Java.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.foundation.user_file import cache_directory
from hearth.maven.ivy import Coordinates, JarsUnavailable, Progress, download

FETCH_PREFIX = ".fetch-"


@dataclass(frozen=True)
class LockedJar:
    """One line of a lock file: a jar with its size and hash."""

    coordinates: Coordinates
    size: int
    sha256: str

    @property
    def file_name(self) -> str:
        """Return the name of the jar in the cache.

        It includes the group because two groups may publish the same artifact and version.
        """
        return f"{self.coordinates.group}.{self.coordinates.file_name}"


def read_lock(path: Path) -> list[LockedJar]:
    """Return the jars of a lock file in its order, which is the order of the class path."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.split() for line in lines if line and not line.startswith("#"))
    return [LockedJar(Coordinates.parse(name), int(size), sha256) for sha256, size, name in rows]


def fetch_jars(lock: Path, cache: Path | None = None, progress: Progress | None = None) -> list[Path]:
    """Return the paths of all jars of a lock, after downloading the missing ones.

    Safe to call from several processes at once: one downloads, the others wait and then find the jars.
    """
    cache = cache_directory("jars") if cache is None else cache
    jars = read_lock(lock)
    if missing(jars, cache):
        with only_one_process(cache):
            absent = missing(jars, cache)
            if absent:
                _remove_remains(cache)
                _fetch(absent, cache, progress)
    return [cache / jar.file_name for jar in jars]


def missing(jars: Iterable[LockedJar], cache: Path) -> list[LockedJar]:
    """Return the jars that are not in the cache with their full size."""
    return [jar for jar in jars if _size(cache / jar.file_name) != jar.size]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


@contextmanager
def only_one_process(cache: Path) -> Iterator[None]:
    """Hold a cache's lock; the kernel releases it when this process dies."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        handle = (cache / ".lock").open("w")
    except OSError as error:
        remedy = "set HEARTH_HOME to a writable directory"
        raise JarsUnavailable(f"the jar cache {cache} cannot be used: {error}", hint=remedy) from error
    with handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _remove_remains(cache: Path) -> None:
    """Remove the folders of killed downloads; no other download runs, since this process holds the lock."""
    for folder in cache.glob(f"{FETCH_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def _fetch(jars: list[LockedJar], cache: Path, progress: Progress | None) -> None:
    """Download jars next to the cache, check each one, and rename it into the cache."""
    progress = Progress() if progress is None else progress
    with TemporaryDirectory(prefix=FETCH_PREFIX, dir=cache) as folder:
        files = download([jar.coordinates for jar in jars], Path(folder), progress)
        for jar in jars:
            _admit(jar, files[jar.coordinates], cache)
    progress.finish(len(jars), sum(jar.size for jar in jars), cache)


def _admit(jar: LockedJar, file: Path, cache: Path) -> None:
    """Move a downloaded jar into the cache if its hash is the lock's."""
    found = digest(file)
    if found != jar.sha256:
        fact = f"{jar.coordinates} arrived with SHA-256 {found}, expected {jar.sha256}"
        raise JarsUnavailable(fact, hint="a proxy or mirror may have altered it; try another network or mirror")
    os.replace(file, cache / jar.file_name)


def digest(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
