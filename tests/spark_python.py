"""The Python that Spark starts its processes with in tests: one that finds pyspark compiled.

Spark puts a zip with pyspark's source before all else on their import path. Each of them compiles what it needs of it,
for half a second of a processor, and Spark gives up on some of them after ten seconds, which a busy machine may take.
"""

from __future__ import annotations

import atexit
import shlex
import shutil
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp


@cache
def spark_python() -> str:
    """Return a program that runs this Python with the packages it has itself; it is removed when this process ends."""
    folder = Path(mkdtemp(prefix="spark-python-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec env -u PYTHONPATH {shlex.quote(sys.executable)} "$@"\n')
    program.chmod(0o755)
    return str(program)
