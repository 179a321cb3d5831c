"""Starts a Spark session for DataFrames that uses this Python.

Spark looks up data source formats in a separate Python process. It uses ``PYSPARK_DRIVER_PYTHON`` or
``PYSPARK_PYTHON`` as set when its JVM starts, else ``python3`` on the PATH, which usually has no Hearth.
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
    """Spark was started earlier with a Python that does not have the format."""

    code = "environment.spark.python"


def open_session(settings: Mapping[str, str]) -> SparkSession:
    """Return the running session, or start one that uses this Python; raises OtherPython.

    ``settings`` are Spark's. Executors use ``spark.pyspark.python``, else ``PYSPARK_PYTHON``, else this Python.
    """
    for key, value in settings.items():
        if not key.startswith("spark."):
            raise ConfigError(
                f"{key!r} is not a Spark setting: their names start with 'spark.'",
                hint="pass options of a connector to spark.read or spark.write",
            )
        if not isinstance(value, str):
            raise ConfigError(f"setting {key!r} is {value!r}, expected a string", hint=f"write {str(value)!r}")
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
    """Raise OtherPython if a JVM that was already running looks up formats in a Python without Hearth."""
    if hasattr(session, "_client"):  # a session of Spark Connect: the server looks up formats
        return
    variable = session._jvm.System.getenv
    python = variable("PYSPARK_DRIVER_PYTHON") or variable("PYSPARK_PYTHON") or "python3"
    if python == sys.executable:
        return
    try:
        has_format = not subprocess.run([python, "-c", _LOOK], capture_output=True, check=False).returncode
    except OSError:
        has_format = False
    if not has_format:
        raise OtherPython(
            f"Spark already runs in this process and looks up formats with {python!r}, which has no Hearth",
            hint="call hearth.spark.session() before anything else starts Spark, "
            f"or set PYSPARK_DRIVER_PYTHON={sys.executable}",
        )
