"""Spark's JVM, which starts while the rest of a host is loaded: it is what a user waits for."""

from __future__ import annotations

from hearth.config import WorkerConfig
from hearth.foundation.java import find_java
from hearth.spark.spark_launcher import SparkLauncher


def preparing_launcher(worker: WorkerConfig) -> SparkLauncher:
    """Return a launcher that has begun to prepare Spark; raises JavaMissing where there is no Java for it."""
    find_java()
    launcher = SparkLauncher(worker.originals, capacity=worker.capacity)
    launcher.application.prepare()
    return launcher
