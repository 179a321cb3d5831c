"""Cuts reads short: ``python cut_short.py FOLDER BUNDLE JVM_OPTIONS [SIZE WAY]...``,
in every way by default.

It prints the ways on standard output. Everything on its standard error is from Spark and its Python workers.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

import hearth.spark

LINE = "{:0100}\n"
SIZES = {"little": 3_000, "much": 200_000}
"""Lines of files: when Spark closes the connection, a worker has sent all but the end, or only the beginning."""

folder, bundle = Path(sys.argv[1]), sys.argv[2]
spark = hearth.spark.session(
    {
        "spark.master": "local[3]", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": sys.argv[3],
    }
)  # fmt: skip
spark.sparkContext.setLogLevel("OFF")


def read(size: str) -> DataFrame:
    """Return a file of lines."""
    file = folder / f"{size}.txt"
    file.write_text("".join(LINE.format(number) for number in range(SIZES[size])))
    given = {"plugin.path": bundle, "connector.class": "FileStreamSource", "topic": "t", "file": str(file)}
    return spark.read.format("hearth").options(**given).load()


def a_local_iterator(rows: DataFrame) -> None:
    """Take the first rows of an iterator that fetches one partition at a time."""
    next(rows.toLocalIterator())


def a_cancelled_job(rows: DataFrame) -> None:
    """Try each second to cancel the job of a read, until the job exists and ends."""
    has_ended = threading.Event()

    def cancel() -> None:
        while not has_ended.wait(1.0):
            spark.sparkContext.cancelAllJobs()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with contextlib.suppress(Py4JJavaError):
            rows.crossJoin(spark.range(1000)).selectExpr("count(md5(value))").collect()
    finally:
        has_ended.set()
        canceller.join()


def a_failing_neighbour(rows: DataFrame) -> None:
    """Read in one job with a partition that fails."""
    fails = spark.range(1).selectExpr("raise_error('it fails') AS value")
    with contextlib.suppress(PySparkException):
        rows.select("value").union(fails).selectExpr("count(value)").collect()


def a_row_that_fails(rows: DataFrame) -> None:
    """Fail in the JVM on a row in the middle of a batch."""
    with contextlib.suppress(PySparkException):
        rows.selectExpr("IF(value LIKE '%7', raise_error('it fails'), value) AS value").toPandas()


WAYS: dict[str, Callable[[DataFrame], object]] = {
    "show": lambda rows: rows.show(3),
    "limit": lambda rows: rows.limit(10).collect(),
    "first": lambda rows: rows.first(),
    "take": lambda rows: rows.take(5),
    "head": lambda rows: rows.head(2),
    "limit behind a filter": lambda rows: rows.where("value LIKE '%9'").limit(3).collect(),
    "isEmpty": lambda rows: rows.isEmpty(),
    "local iterator": a_local_iterator,
    "cancel": a_cancelled_job,
    "failing neighbour": a_failing_neighbour,
    "failing row": a_row_that_fails,
}


def main() -> None:
    """Cut reads short in one way after the other."""
    given = sys.argv[4:]
    for size, name in zip(given[::2], given[1::2]) if given else product(SIZES, WAYS):
        WAYS[name](read(size))
        print(f"{size} {name}", flush=True)
    time.sleep(3)  # workers print a moment after Spark has its rows
    spark.stop()


if __name__ == "__main__":
    main()
