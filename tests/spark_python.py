"""What tests start as Spark: its Python, which uses the compiled pyspark, options of its JVM, or none at all.

Spark puts a zip with pyspark's sources first on their import path. Each process compiles the modules it needs, for
half a second of CPU, and Spark gives up on a process after ten seconds, which can pass on a busy machine.
"""

from __future__ import annotations

import atexit
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from hearth.spark.driver import driver_archive


def short_lived() -> dict[str, str]:
    """Return the settings of a session that lives for a minute: its JVM compiles little and maps the class archive."""
    options = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *driver_archive().options())
    return {"spark.driver.extraJavaOptions": shlex.join(options)}


@cache
def spark_python() -> str:
    """Return a program that runs this Python with its own packages; it is removed when this process ends."""
    folder = Path(mkdtemp(prefix="spark-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH {shlex.quote(sys.executable)} "$@"\n')
    program.chmod(0o755)
    return str(program)


def silent_spark(folder: Path) -> str:
    """Return a value of SPARK_HOME with which Spark starts and never answers, for hosts that end before they need it.

    A host starts Spark first, and its JVM uses four seconds of CPU.
    """
    program = folder / "silent-spark" / "bin" / "spark-class"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("builtin exec cat\n")  # to the end of its input, as Spark does
    return str(program.parents[1])
