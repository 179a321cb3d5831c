"""The warm-up: starts Spark and Kafka once to record class data sharing archives for faster starts.

``python -m hearth.cli.warm_up`` makes the missing archives; ``tools/setup`` calls it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.broker import KafkaBroker
from hearth.broker.broker import broker_jars
from hearth.foundation.class_archive import TIMEOUT_SECONDS, ClassArchive
from hearth.foundation.java import find_java
from hearth.spark.driver import driver_archive
from hearth.spark.spark_launcher import SparkLauncher


def make_archives() -> list[Path]:
    """Make the missing class archives of Spark's driver and of the broker, in parallel."""
    archives = {start_spark: driver_archive(), start_kafka: ClassArchive(find_java().executable, broker_jars())}
    with ThreadPoolExecutor() as threads:
        return list(threads.map(lambda start: archives[start].make(_command(start)), archives))


def _command(start: Callable[[], None]) -> list[str]:
    """Return the command that runs a function of this module in a new process."""
    return [sys.executable, "-c", f"from hearth.cli.warm_up import {start.__name__} as start; start()"]


def start_spark() -> None:
    """Start Spark as a host does, run one task in a Python worker, and stop."""
    launcher = SparkLauncher({})
    launcher.start()
    launcher.application.wait_until_ready()
    launcher.rehearse()
    launcher.stop(grace=TIMEOUT_SECONDS)  # the archive is written while the JVM ends


def start_kafka() -> None:
    """Start a broker and stop it."""
    with TemporaryDirectory() as folder, KafkaBroker(folder):
        pass


if __name__ == "__main__":
    make_archives()
