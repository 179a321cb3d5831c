"""The rehearsal: Spark starts once, so that what a later start needs is kept in the archive of classes.

``python -m hearth.spark.rehearsal`` makes the archive once, as ``tools/setup`` does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hearth.spark.class_archive import MAKING, archive_path, note_owner
from hearth.spark.spark_launcher import SparkLauncher

TIMEOUT_SECONDS = 300


def make_archive() -> Path:
    """Make the archive unless it is there: start a driver once, run one task, and keep the classes it loaded."""
    path = archive_path()
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    command = [sys.executable, "-c", "from hearth.spark.rehearsal import rehearse; rehearse()"]
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
        note_owner(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def rehearse() -> None:
    """Start Spark as a host does, run one task in a Python worker, and stop."""
    launcher = SparkLauncher({})
    launcher.start()
    launcher.wait_until_ready()
    launcher.rehearse()
    launcher.stop(grace=TIMEOUT_SECONDS)  # the archive is written while the JVM ends


if __name__ == "__main__":
    make_archive()
