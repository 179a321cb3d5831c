"""An archive of the driver's classes, so that Spark starts a second or more sooner (the JVM's AppCDS).

A ``rehearsal`` makes it once; every later driver on the same Java and Spark maps it. A driver without it only starts
slower.
"""

from __future__ import annotations

import hashlib
import os
from importlib import metadata
from pathlib import Path

from hearth.foundation.java import java_executable
from hearth.foundation.user_file import cache_directory

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
MAKING = "HEARTH_ARCHIVE_IN_THE_MAKING"


def archive_path() -> Path:
    """Return where the archive for this Java and this Spark lies, or would."""
    java = java_executable(os.environ).resolve()
    modules = java.parent.parent / "lib" / "modules"
    identity = [str(java), str(modules.stat().st_mtime_ns) if modules.exists() else "", metadata.version("pyspark")]
    name = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]
    return cache_directory("spark") / f"driver-{name}.jsa"


def archive_options() -> str:
    """Return the driver's JVM options that use the archive, or that make it when this process was started to."""
    if making := os.environ.get(MAKING):
        return f"-XX:ArchiveClassesAtExit={making} {QUIET}"
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} {QUIET}" if path.exists() else ""
