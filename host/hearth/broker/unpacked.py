"""Caches unpacked program archives for this user: downloaded once, and complete or absent."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.foundation.user_file import cache_directory
from hearth.maven.ivy import Progress
from hearth.maven.jar import fetch_jars, only_one_process, read_lock

_UNPACK_PREFIX = ".unpack-"


def fetch_unpacked(lock: Path, title: str, cache: Path | None = None) -> Path:
    """Return the directory with the content of a lock's only archive, after downloading it if missing.

    The archive itself is not kept. Safe to call from several processes at once: one downloads, the others wait.
    """
    cache = cache_directory("programs") if cache is None else cache
    (archive,) = read_lock(lock)
    place = cache / archive.sha256[:16]
    if place.is_dir():
        return place
    fetched = fetch_jars(lock, cache, Progress(title=title))
    with only_one_process(cache):
        if not place.is_dir():
            _unpack(fetched[0], place)
    return place


def _unpack(archive: Path, place: Path) -> None:
    """Unpack into a temporary directory, then rename it: a directory of that name is complete."""
    for remains in place.parent.glob(f"{_UNPACK_PREFIX}*"):
        shutil.rmtree(remains, ignore_errors=True)
    with TemporaryDirectory(prefix=_UNPACK_PREFIX, dir=place.parent) as folder:
        whole = Path(folder) / "whole"
        with tarfile.open(archive) as tar:
            # The hash was checked; the filter, missing in early Python 3.10, avoids a warning in newer versions.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(whole)  # noqa: S202
        os.replace(whole, place)
    archive.unlink()
