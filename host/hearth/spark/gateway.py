"""Starts Spark's JVM with settings that other users cannot read, protected from signals meant for the host."""

from __future__ import annotations

import os
import shlex
import shutil
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hearth.foundation.properties import render
from hearth.spark.spark_log import read_log
from hearth_api import ConnectError

LOOK_SECONDS = 0.02

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""Environment variable of pyspark with the user's additional arguments for Spark's script."""
_LAUNCHER = "SPARK_LAUNCHER_OPTS"
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Options of the short-lived JVM that Spark's script runs to compute the command line of the real one."""

_START = """
trap "" HUP INT TERM
exec() { wait $!; builtin exec "$@"; }
. "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.SparkSubmit "$@"
"""
"""Runs Spark's own script, which becomes the JVM, with two changes.

First, it ignores signals, and a program inherits ignored signals. A service manager signals every process of a service
at once; the host then drains its tasks and still needs Spark. The JVM exits at the end of its input, which the host
closes last, and which also closes if the host dies.

Second, it waits for the subshell that the script reads the JVM's command line from. Otherwise the JVM would have a
zombie child that it does not know of.
"""


class JvmEnded(ConnectError):
    """Spark's JVM exited before it reported its port."""

    code = "environment.jvm"


def start_jvm(settings: Mapping[str, str], keep: Callable[[subprocess.Popen[bytes]], None]) -> Any:
    """Start Spark's JVM and return pyspark's gateway to it; ``keep`` gets its process before the JVM is ready.

    Settings are passed in an unnamed file, because every user of a machine can read command lines and a named file
    would remain if the process is killed. The folder is not a `TemporaryDirectory`, which is removed when this process
    exits: a JVM that cannot write its port there does not notice that its input is closed, and would never exit.
    """
    folder = tempfile.mkdtemp(prefix="hearth-spark-")
    try:
        introduction = Path(folder, "gateway")
        jvm = _started(settings, introduction)
        keep(jvm)
        import pyspark.java_gateway  # noqa: F401  # while the JVM starts

        _await(introduction, jvm)
        return _connect(introduction.read_bytes())
    finally:
        shutil.rmtree(folder)


def _started(settings: Mapping[str, str], introduction: Path) -> subprocess.Popen[bytes]:
    """Start a JVM that will write its port and secret to a file."""
    rest = shlex.split(os.environ.get(ARGUMENTS, "pyspark-shell"))
    with tempfile.TemporaryFile() as properties:
        properties.write(render(settings).encode("latin-1"))
        properties.flush()
        file = properties.fileno()
        options = ["--properties-file", f"/dev/fd/{file}", "--load-spark-defaults", *rest]
        jvm = subprocess.Popen(
            ["bash", "-c", _START, "spark-submit", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **jvm_variables(), "_PYSPARK_DRIVER_CONN_INFO_PATH": str(introduction)},
            start_new_session=True,
            pass_fds=[file],
        )
    read_log(jvm)
    return jvm


def jvm_variables() -> dict[str, str]:
    """Return the variables that ``spark-submit`` and pyspark set, with one hash seed for all Python workers."""
    home = os.environ.get("SPARK_HOME") or str(installed_spark())
    launcher = f"{_SHORT_LIVED} {os.environ.get(_LAUNCHER, '')}".strip()
    return {"SPARK_HOME": home, "SPARK_CONNECT_MODE": "0", "PYTHONHASHSEED": "0", _LAUNCHER: launcher}


def installed_spark() -> Path:
    """Return the folder of pyspark, a complete Spark, without importing it."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _await(introduction: Path, jvm: subprocess.Popen[bytes]) -> None:
    pause = threading.Event()
    while not introduction.exists():
        if jvm.poll() is not None:
            raise JvmEnded(f"its JVM exited with {jvm.returncode} before it reported its port")
        pause.wait(LOOK_SECONDS)


def _connect(introduction: bytes) -> Any:
    """Return the gateway to a JVM from its port and secret."""
    port, length = struct.unpack_from(">ii", introduction)
    secret = introduction[8 : 8 + length].decode()
    from pyspark.java_gateway import launch_gateway

    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
    try:
        return launch_gateway()
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
