"""Spark sessions for tests that write to sinks."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import py4j.java_gateway
import py4j.protocol
from pyspark.sql import DataFrame, SparkSession

from tests.spark_python import spark_python

UPSERT = "org.example.upsert.UpsertSinkConnector"


@contextmanager
def session(master: str, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Provide a Spark session that is configured with nothing but its own Python."""
    os.environ["PYSPARK_PYTHON"] = spark_python()
    with TemporaryDirectory(prefix="warehouse-", ignore_cleanup_errors=True) as warehouse:
        own = {
            "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "2", "spark.sql.warehouse.dir": warehouse,
            **(settings or {}),
        }  # fmt: skip
        builder = SparkSession.builder.master(master).appName("write")
        for name, value in own.items():
            builder = builder.config(name, value)
        opened = builder.getOrCreate()
        try:
            opened.sparkContext.setLogLevel("OFF")
            yield opened
        finally:
            opened.stop()
            # a session replaces this for all JVMs of the process; errors of others would then be asked of this one
            py4j.java_gateway.get_return_value = py4j.protocol.get_return_value


def write(rows: DataFrame, bundles: str, mode: str = "append", **options: Any) -> None:
    """Write rows to a sink; dots of options are two underscores."""
    given = {name.replace("__", "."): str(value) for name, value in options.items()}
    rows.write.format("hearth").mode(mode).option("plugin.path", bundles).options(**given).save()


def kept(database: Path) -> list[tuple[Any, ...]]:
    """Return the rows of a database."""
    with closing(sqlite3.connect(database)) as opened:
        return opened.execute("SELECT * FROM written ORDER BY topic, partition, offset").fetchall()
