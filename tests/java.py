"""A real Java beside the tests: what Hearth reimplements is compared with the class it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.java_gateway import launch_gateway

from hearth.foundation.java import find_java


@contextmanager
def java(classpath: Sequence[Path] = ()) -> Iterator[Any]:
    """Start a Java whose classes are reached as attributes: `jvm.java.util.Properties()`."""
    jars = Path(pyspark.__file__).parent / "jars"
    py4j = next(jars.glob("py4j-*.jar"))
    port, process = launch_gateway(
        java_path=str(find_java().executable),
        jarpath=str(py4j),
        classpath=":".join(str(jar) for jar in classpath),
        die_on_exit=True,
        return_proc=True,
        javaopts=["-XX:TieredStopAtLevel=1"],
    )
    # Without memory management: an object that Python collects after the Java is gone would ask it to forget it.
    parameters = JavaParameters(port=port, auto_convert=True, enable_memory_management=False)
    # As pyspark reaches its own; another kind of gateway leaves a socket open when it finds nobody there.
    gateway = ClientServer(parameters, PythonParameters(port=0, eager_load=False))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=20)
