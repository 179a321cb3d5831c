"""Starts Spark's JVM while the rest of a host is imported: the JVM dominates the start time."""

from __future__ import annotations

from hearth.config import WorkerConfig
from hearth.foundation.java import find_java
from hearth.spark.spark_launcher import SparkLauncher


def preparing_launcher(worker: WorkerConfig) -> SparkLauncher:
    """Return a launcher that is preparing Spark; raises JavaMissing if there is no suitable Java."""
    find_java()
    launcher = SparkLauncher(worker.originals, capacity=worker.capacity)
    launcher.application.prepare()
    return launcher
