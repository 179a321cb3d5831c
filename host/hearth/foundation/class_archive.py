"""Class data sharing archives (AppCDS), with which JVMs start sooner and with less CPU time.

A warm-up creates an archive; every later JVM of the same Java and class path maps it, and starts more slowly without.
A JVM uses an archive only with the class path it was created with, file by file, and ignores it silently otherwise.
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
_IN_PLACE = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Maps archives where they were made for, if that address is free; elsewhere a JVM rewrites every pointer in them."""
_MADE_OF = ".made_of"


class ClassArchive:
    """The archive for one Java and one class path; the file may not exist yet."""

    def __init__(self, java: Path, class_path: Sequence[Path]) -> None:
        """Describe an archive; ``class_path`` has jars or directories of jars."""
        java = java.resolve()
        self._made_of = [_version(each) for each in (java, java.parent.parent / "lib" / "modules", *class_path)]
        identity = hashlib.sha256("\n".join(self._made_of).encode()).hexdigest()[:16]
        self.path = cache_directory("classes") / f"{identity}.jsa"

    def options(self) -> tuple[str, ...]:
        """Return JVM options to use the archive, or to create it if this process is a warm-up."""
        if making := os.environ.get(MAKING):
            return (f"-XX:ArchiveClassesAtExit={making}", *_QUIET)
        return (f"-XX:SharedArchiveFile={self.path}", *_IN_PLACE, *_QUIET) if self.path.exists() else ()

    def make(self, rehearsal: Sequence[str]) -> Path:
        """Create the archive if it is missing, and return its path.

        ``rehearsal`` is the command of a Python program that starts and stops the JVM: it writes its archive while it
        exits. Raises OSError and subprocess.SubprocessError, without leaving files behind.
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
            note.replace(
                self.path.with_suffix(_MADE_OF)
            )  # atomic: a reader of a partial note would remove the archive
            unfinished.replace(self.path)
        finally:
            unfinished.unlink(missing_ok=True)
            note.unlink(missing_ok=True)
        _remove_outdated(self.path.parent)
        return self.path


def _version(path: Path) -> str:
    """Return a text that identifies a file and its version."""
    try:
        return f"{path.stat().st_mtime_ns} {path}"
    except OSError:
        return f"- {path}"


def _remove_outdated(folder: Path) -> None:
    """Remove archives of deleted or replaced files: no JVM uses them any more, and each has about 50 MB."""
    for note in folder.glob(f"*{_MADE_OF}"):
        versions = note.read_text().split("\n")
        if any(each != _version(Path(each.partition(" ")[2])) for each in versions):
            note.with_suffix(".jsa").unlink(missing_ok=True)
            note.unlink(missing_ok=True)
