"""Spark's JVM, started so that nobody reads its settings and no signal meant for the host ends it."""

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
"""Holds further arguments of Spark's script, which are pyspark's users' own."""
_LAUNCHER = "SPARK_LAUNCHER_OPTS"
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
"""Of the JVM that Spark's script asks for the command of the other one, and that ends with its answer."""

_START = """
trap "" HUP INT TERM
exec() { wait $!; builtin exec "$@"; }
. "$SPARK_HOME/bin/spark-class" org.apache.spark.deploy.SparkSubmit "$@"
"""
"""Spark's own script becomes the JVM, with two things changed.

What a process ignores when it becomes a program, that program ignores, a JVM included. A service manager signals
every process of a service at once. The host drains its tasks then, and needs Spark for it. The JVM ends with its
input, which the host closes at last, and which ends with the host however that ends.

The script reads the JVM's command line from a shell beside it. Waited for, it is gone; otherwise the JVM would have a
defunct child that it knows nothing of.
"""


class JvmEnded(ConnectError):
    """Spark's JVM ended before it could be spoken to."""

    code = "environment.jvm"


def start_jvm(settings: Mapping[str, str], keep: Callable[[subprocess.Popen[bytes]], None]) -> Any:
    """Start Spark's JVM and return pyspark's gateway to it; ``keep`` is given its process before that is of any use.

    Every user of a machine can read command lines, and files stay where a process is killed, so the settings go by way
    of one that has no name. The folder is no `TemporaryDirectory`, which would go when this process ends meanwhile: a
    JVM that finds no place where to write how it is reached does not look at its input either, and stays for ever.
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
    """Return the process of a JVM that will write down how it is reached."""
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
    """Return what ``spark-submit`` and pyspark set for the JVM; equal texts hash alike in all Python workers."""
    home = os.environ.get("SPARK_HOME") or str(installed_spark())
    launcher = f"{_SHORT_LIVED} {os.environ.get(_LAUNCHER, '')}".strip()
    return {"SPARK_HOME": home, "SPARK_CONNECT_MODE": "0", "PYTHONHASHSEED": "0", _LAUNCHER: launcher}


def installed_spark() -> Path:
    """Return the folder of pyspark, which is a whole Spark, without loading any of it."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _await(introduction: Path, jvm: subprocess.Popen[bytes]) -> None:
    pause = threading.Event()
    while not introduction.exists():
        if jvm.poll() is not None:
            raise JvmEnded(f"its JVM exited with {jvm.returncode} before it could be spoken to")
        pause.wait(LOOK_SECONDS)


def _connect(introduction: bytes) -> Any:
    """Return the gateway to a JVM that has written down its port and its secret."""
    port, length = struct.unpack_from(">ii", introduction)
    secret = introduction[8 : 8 + length].decode()
    from pyspark.java_gateway import launch_gateway

    os.environ.update(PYSPARK_GATEWAY_PORT=str(port), PYSPARK_GATEWAY_SECRET=secret)
    try:
        return launch_gateway()
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
