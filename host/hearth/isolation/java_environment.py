"""Environments of Java bundles: a JVM with the jars of one bundle, and those of the stage itself."""

from __future__ import annotations

from pathlib import Path

from hearth.isolation.environment import CLASS_ARCHIVE, JAVA_OPTIONS, Environment, java_word

_FLAGS = ("-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData", "--add-opens=java.base/java.nio=ALL-UNNAMED")
_MAIN = "hearth.stage.Main"


def java_environment(key: str, jars: Path, stage: Path, bundle: str = "", release: int = 0) -> Environment:
    """Return the environment of a bundle whose jars are in a directory and need a Java release.

    ``stage`` has the jars of the stage. The options of a confinement follow Hearth's own, so they win.
    """
    paths = (str(jars), str(stage))
    command = (java_word(release), *_FLAGS, CLASS_ARCHIVE, JAVA_OPTIONS, "-cp", "{1}/*", _MAIN, "{0}")
    return Environment(key, command, paths, bundle)
