"""An archive of the driver's classes, so that Spark starts a second or more sooner (the JVM's AppCDS).

A ``rehearsal`` makes it once; every later driver of the same Java and of the same installed Spark maps it. A driver
without it only starts slower. The JVM takes an archive for the class path it was made with, file by file, and says
nothing otherwise: each installation has its own, which goes when the installation has gone.
"""

from __future__ import annotations

import hashlib
import os
from importlib import metadata, util
from pathlib import Path

from hearth.foundation.java import java_executable
from hearth.foundation.user_file import cache_directory

QUIET = "-Xlog:disable -Xlog:all=error:stderr"
MAKING = "HEARTH_ARCHIVE_IN_THE_MAKING"
_OWNER = ".spark"


def archive_path() -> Path:
    """Return where the archive for this Java and the Spark that is installed here lies, or would."""
    java = java_executable(os.environ).resolve()
    modules = java.parent.parent / "lib" / "modules"
    built = str(modules.stat().st_mtime_ns) if modules.exists() else ""
    jars = spark_directory() / "jars"
    installed = str(jars.stat().st_mtime_ns) if jars.exists() else ""
    identity = [str(java), built, metadata.version("pyspark"), str(jars), installed]
    name = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:16]
    return cache_directory("spark") / f"driver-{name}.jsa"


def spark_directory() -> Path:
    """Return where pyspark is installed, found without importing it; its jars are the driver's class path."""
    spec = util.find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def note_owner(archive: Path) -> None:
    """Write down beside an archive which Spark it is of, and remove those whose Spark is gone."""
    archive.with_suffix(_OWNER).write_text(str(spark_directory()))
    for owner in archive.parent.glob(f"*{_OWNER}"):
        if not Path(owner.read_text()).exists():
            owner.with_suffix(archive.suffix).unlink(missing_ok=True)
            owner.unlink()


def archive_options() -> str:
    """Return the driver's JVM options that use the archive, or that make it when this process was started to."""
    if making := os.environ.get(MAKING):
        return f"-XX:ArchiveClassesAtExit={making} {QUIET}"
    path = archive_path()
    return f"-XX:SharedArchiveFile={path} {QUIET}" if path.exists() else ""
