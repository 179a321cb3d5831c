"""Keeps programs that come as an archive in a cache of this user, unpacked: fetched once, whole or not there."""

from __future__ import annotations

import os
import shutil
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.broker.ivy import Progress
from hearth.broker.jar import fetch_jars, only_one_process, read_lock
from hearth.foundation.user_file import cache_directory

_UNPACK_PREFIX = ".unpack-"


def fetch_unpacked(lock: Path, title: str, cache: Path | None = None) -> Path:
    """Return the directory with what is in the one archive of a lock, after fetching it where it is not there.

    The archive itself is not kept. Safe to call from several processes at once: one fetches, the others wait.
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
    """Unpack beside the place, and rename: whatever has the name is whole."""
    for remains in place.parent.glob(f"{_UNPACK_PREFIX}*"):
        shutil.rmtree(remains, ignore_errors=True)
    with TemporaryDirectory(prefix=_UNPACK_PREFIX, dir=place.parent) as folder:
        whole = Path(folder) / "whole"
        with tarfile.open(archive) as tar:
            # Its hash was checked; the filter, which not every Python 3.10 has, keeps newer ones from warning.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
            tar.extractall(whole)  # noqa: S202
        os.replace(whole, place)
    archive.unlink()
