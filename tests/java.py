"""A live Java: reimplementations are compared with the original classes."""

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
    """Start a Java whose classes are accessible as attributes: `jvm.java.util.Properties()`."""
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
    # Without memory management: an object collected after Java's exit would send it a request.
    parameters = JavaParameters(port=port, auto_convert=True, enable_memory_management=False)
    # The gateway class that pyspark uses; the other one leaks a socket if its peer has ended.
    gateway = ClientServer(parameters, PythonParameters(port=0, eager_load=False))
    try:
        yield gateway.jvm
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(timeout=20)
