"""Counts the rows of Parquet files with Spark, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from hearth_api import ConnectError

_TIMEOUT = 300.0
_SETTINGS = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "1",
}


def count_rows(path: Path) -> int:
    """Return how many rows Spark reads below a directory; raises ConnectError with Spark's last words."""
    command = [sys.executable, "-m", __name__, str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except subprocess.TimeoutExpired as error:
        raise ConnectError(f"Spark did not count the rows of {path} within {_TIMEOUT:.0f} s") from error
    if done.returncode:
        raise ConnectError(f"Spark cannot read {path}: {done.stderr.strip().splitlines()[-1]}")
    return int(done.stdout.split()[-1])


def main(path: str) -> None:
    """Print the number of rows."""
    from pyspark.sql import SparkSession

    session = SparkSession.builder.config(map=_SETTINGS).getOrCreate()
    try:
        sys.stdout.write(f"{session.read.option('recursiveFileLookup', 'true').parquet(path).count()}\n")
    finally:
        session.stop()


if __name__ == "__main__":
    main(sys.argv[1])
