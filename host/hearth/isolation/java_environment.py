"""Environments of Java bundles: a JVM with the jars of one bundle, and those of the stage itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hearth.isolation.environment import JAVA, Environment

HEAP_BYTES = 512 << 20
"""Largest heap of a stage."""
_FLAGS = ("-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData", "--add-opens=java.base/java.nio=ALL-UNNAMED")
_MAIN = "hearth.stage.Main"


def java_environment(
    key: str, jars: Path, stage: Path, bundle: str = "", heap_bytes: int = HEAP_BYTES, options: Sequence[str] = ()
) -> Environment:
    """Return the environment of a bundle whose jars are in a directory.

    ``stage`` has the jars of the stage and its classes. ``options`` of the JVM follow Hearth's own, so they win.
    """
    flags = (*_FLAGS, f"-Xmx{heap_bytes >> 10}k", *options)
    paths = (str(jars), str(stage))
    return Environment(key, (JAVA, *flags, "-cp", "{1}/classes:{1}/*", _MAIN, "{0}"), paths, bundle)
