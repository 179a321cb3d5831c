"""An archive of the driver's classes, so that Spark starts a second or more sooner (the JVM's AppCDS).

``python -m hearth.spark.archive`` makes it once, as ``tools/setup`` does; every later driver on the same Java and
Spark maps it. A driver without it only starts slower.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from hearth.broker.java import java_executable
from hearth.foundation.directory import cache_directory

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
MAKING = "HEARTH_ARCHIVE_IN_THE_MAKING"
TIMEOUT_SECONDS = 300


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


def make_archive() -> Path:
    """Make the archive unless it is there: start a driver once, run one task, and keep the classes it loaded."""
    path = archive_path()
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    command = [sys.executable, "-c", "from hearth.spark.archive import rehearse; rehearse()"]
    try:
        subprocess.run(
            command,
            env={**os.environ, MAKING: str(unfinished)},
            check=True,
            timeout=TIMEOUT_SECONDS,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def rehearse() -> None:
    """Start Spark as a host does, run one task in a Python worker, and stop."""
    from hearth.spark.launcher import SparkLauncher

    launcher = SparkLauncher({})
    launcher.start()
    launcher.wait_until_ready()
    launcher.rehearse()
    launcher.stop(grace=TIMEOUT_SECONDS)  # the archive is written while the JVM ends


if __name__ == "__main__":
    make_archive()
