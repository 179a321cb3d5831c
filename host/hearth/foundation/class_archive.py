"""Archives of the classes that JVMs load, so that later ones start with less CPU time, and sooner (the JVM's AppCDS).

A warm-up makes one; every later JVM of the same Java and class path maps it, and one without it only starts slower.
A JVM takes an archive for the class path it was made with, file by file, and says nothing otherwise.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hearth.foundation.user_file import cache_directory

MAKING = "HEARTH_ARCHIVE_IN_THE_MAKING"
TIMEOUT_SECONDS = 300
_QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
_MADE_OF = ".made_of"


class ClassArchive:
    """The archive for one Java and one class path, which is there or not."""

    def __init__(self, java: Path, class_path: Sequence[Path]) -> None:
        """Describe an archive; ``class_path`` holds jars, or directories of jars."""
        java = java.resolve()
        self._made_of = [_version(each) for each in (java, java.parent.parent / "lib" / "modules", *class_path)]
        identity = hashlib.sha256("\n".join(self._made_of).encode()).hexdigest()[:16]
        self.path = cache_directory("classes") / f"{identity}.jsa"

    def options(self) -> tuple[str, ...]:
        """Return the options of a JVM that uses the archive, or that makes it where this process rehearses."""
        if making := os.environ.get(MAKING):
            return (f"-XX:ArchiveClassesAtExit={making}", *_QUIET)
        return (f"-XX:SharedArchiveFile={self.path}", *_QUIET) if self.path.exists() else ()

    def make(self, rehearsal: Sequence[str]) -> Path:
        """Make the archive unless it is there, and return its path.

        ``warm-up`` is the command of a Python program that starts and stops what the archive is for: a JVM writes
        its archive while it ends. Raises OSError and subprocess.SubprocessError, with nothing left behind.
        """
        if self.path.exists():
            return self.path
        self.path.parent.mkdir(parents=True, exist_ok=True)
        unfinished, note = (self.path.with_suffix(f".{os.getpid()}.{kind}") for kind in ("tmp", "note"))
        try:
            subprocess.run(
                rehearsal,
                env={**os.environ, MAKING: str(unfinished)},
                check=True,
                timeout=TIMEOUT_SECONDS,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            note.write_text("\n".join(self._made_of))
            note.replace(self.path.with_suffix(_MADE_OF))  # whole at once: who reads half of it removes the archive
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)
            note.unlink(missing_ok=True)
        _remove_outdated(self.path.parent)
        return self.path


def _version(path: Path) -> str:
    """Return what tells a file from another one, and from what was there before it."""
    try:
        return f"{path.stat().st_mtime_ns} {path}"
    except OSError:
        return f"- {path}"


def _remove_outdated(folder: Path) -> None:
    """Remove archives of what is gone or was replaced: no JVM takes them any more, and each has some 50 MB."""
    for note in folder.glob(f"*{_MADE_OF}"):
        versions = note.read_text().split("\n")
        if any(each != _version(Path(each.partition(" ")[2])) for each in versions):
            note.with_suffix(".jsa").unlink(missing_ok=True)
            note.unlink(missing_ok=True)
