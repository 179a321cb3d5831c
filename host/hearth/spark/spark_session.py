"""A session of Spark for DataFrames, whose Python is this one.

Spark looks for formats in a process of its own. It takes the Python that ``PYSPARK_DRIVER_PYTHON`` or
``PYSPARK_PYTHON`` names when its JVM starts, else ``python3`` of the PATH, which mostly has no Hearth.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hearth_api import ConfigError, ConnectError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PYTHON = "spark.pyspark.python"
_LOOK = "import pyspark_hearth"


class OtherPython(ConnectError):
    """Spark was started earlier, with a Python that does not find the format."""

    code = "environment.spark.python"


def open_session(settings: Mapping[str, str]) -> SparkSession:
    """Return the session that runs, or start one whose processes are of this Python; raises OtherPython.

    ``settings`` are Spark's. Executors run ``spark.pyspark.python``, else ``PYSPARK_PYTHON``, else this Python.
    """
    for key, value in settings.items():
        if not key.startswith("spark."):
            raise ConfigError(
                f"setting {key!r} is none of Spark's: their names begin with 'spark.'",
                hint="options of a connector go to spark.read and spark.write",
            )
        if not isinstance(value, str):
            raise ConfigError(f"setting {key!r} is {value!r}, and Spark takes texts", hint=f"write {str(value)!r}")
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYSPARK_PYTHON"] = settings.get(_PYTHON) or os.environ.get("PYSPARK_PYTHON") or sys.executable
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    _check(session)
    return session


def _check(session: Any) -> None:
    """Raise OtherPython where a JVM that ran before this was called asks a Python without Hearth for formats."""
    if hasattr(session, "_client"):  # a session of Spark Connect: the server looks for formats
        return
    variable = session._jvm.System.getenv
    asked = variable("PYSPARK_DRIVER_PYTHON") or variable("PYSPARK_PYTHON") or "python3"
    if asked == sys.executable:
        return
    try:
        has_format = not subprocess.run([asked, "-c", _LOOK], capture_output=True, check=False).returncode
    except OSError:
        has_format = False
    if not has_format:
        raise OtherPython(
            f"Spark runs already in this process and looks for formats with {asked!r}, which has no Hearth",
            hint="call hearth.spark.session() before anything else starts Spark, "
            f"or start with PYSPARK_DRIVER_PYTHON={sys.executable}",
        )
