"""The Python with which Spark starts its processes in tests, which uses the compiled pyspark, and options of its JVM.

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
