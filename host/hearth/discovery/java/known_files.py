"""Keeps what is known of a bundle's files by their stamps, so that a later listing opens none of them."""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

from hearth.discovery.java.hub_manifest import HubManifest
from hearth.discovery.refusal import BundleError
from hearth.discovery.tree import DirectoryTree
from hearth.foundation.user_file import cache_directory, replace_text

SETTLED_NS = 2_000_000_000
"""Age of a change after which another one has another time, also where a file system counts in seconds."""

Stamps = tuple[tuple[str, int, int, int, int, int], ...]
"""Path, device, inode, size, and the times of the last change of content and of inode, for each file."""


@dataclass(frozen=True)
class KnownFiles:
    """What reading the files of a bundle has shown, apart from the content of its archives."""

    stamps: Stamps | None
    """``None`` if the files were too new to tell a later change."""
    top: str
    class_path: tuple[str, ...]
    name: str
    version: str
    hub: HubManifest | None = None
    hashes: dict[str, str] | None = None
    """SHA-256 of each file by path, from the manifest of a packed bundle."""
    key: str = ""
    """Hash of the files, ``""`` before it was computed."""


def stamps_of(location: Path) -> Stamps | None:
    """Return the stamps of a file, or of all files in a directory.

    Programs can set the time of the content, but only the system sets that of the inode. The answer is ``None`` if
    a file cannot be read, or has changed so recently that its next change may leave the same stamp.
    """
    try:
        paths = sorted(DirectoryTree(location).walk()) if location.is_dir() else [""]
        found = tuple((path, *_stamp(os.stat(location / path))) for path in paths)
    except (OSError, BundleError):
        return None
    settled = time.time_ns() - SETTLED_NS
    return found if all(each[-1] < settled for each in found) else None


def _stamp(found: os.stat_result) -> tuple[int, int, int, int, int]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def recall(location: Path) -> KnownFiles | None:
    """Return what was kept of a location, if its files have the same stamps as then."""
    try:
        kept = json.loads(_place(location).read_text(encoding="utf-8"))
        if kept.pop("location") != str(location):  # another one with this checksum
            return None
        stamps = tuple((path, *numbers) for path, *numbers in kept.pop("stamps"))
        if stamps != stamps_of(location):
            return None
        class_path, hub = tuple(map(str, kept.pop("class_path"))), kept.pop("hub")
        return KnownFiles(stamps, class_path=class_path, hub=HubManifest(**hub) if hub else None, **kept)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def keep(location: Path, files: KnownFiles) -> None:
    """Keep what is known of a location; a full disk or a directory without access costs only time."""
    if files.stamps is not None:
        with contextlib.suppress(OSError):
            replace_text(_place(location), json.dumps({"location": str(location), **asdict(files)}))


def _place(location: Path) -> Path:
    name = os.fsencode(location)
    return cache_directory("java-bundles", f"at-{zlib.crc32(name):08x}{zlib.adler32(name):08x}.json")
