"""Archives of the classes that a broker loads, which take much of a start's CPU time (AppCDS).

``tests.java_rehearsal`` makes them once; a Java that starts without its archive only takes longer.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from hearth.broker.process import QUICK_START
from hearth.foundation.java import java_executable
from hearth.foundation.user_file import cache_directory
from hearth.spark.class_archive import QUIET


def java_archive(class_path: Sequence[Path]) -> Path:
    """Return where the archive for this Java and these jars lies, or would."""
    java = java_executable(os.environ).resolve()
    files = [java.parent.parent / "lib" / "modules", *class_path]
    identity = [str(java), *(f"{each} {each.stat().st_mtime_ns}" for each in files if each.exists())]
    name = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]
    return cache_directory("tests") / f"java-{name}.jsa"


def start_options(class_path: Sequence[Path]) -> tuple[str, ...]:
    """Return the options with which a Java starts fastest that runs for a test only."""
    archive = java_archive(class_path)
    return (*QUICK_START, f"-XX:SharedArchiveFile={archive}", *QUIET.split()) if archive.exists() else QUICK_START
