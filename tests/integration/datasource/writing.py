"""Sessions of Spark that write to sinks, for tests."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from hearth.datasource.write import HearthStreamWriter, HearthWriter, batch_writer, stream_writer

UPSERT = "org.example.upsert.UpsertSinkConnector"


class Written(DataSource):  # type: ignore[misc]
    """The half of the data source that writes."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "hearth"

    def writer(self, schema: StructType, overwrite: bool) -> HearthWriter:
        """Return what writes a DataFrame."""
        return batch_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> HearthStreamWriter:
        """Return what writes a query's micro-batches."""
        return stream_writer(self.options, schema, overwrite)


@contextmanager
def session(master: str, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Provide a session of Spark, which has the format."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    own = {
        "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2", **(settings or {}),
    }  # fmt: skip
    builder = SparkSession.builder.master(master).appName("write")
    for name, value in own.items():
        builder = builder.config(name, value)
    opened = builder.getOrCreate()
    try:
        opened.sparkContext.setLogLevel("OFF")
        opened.dataSource.register(Written)
        yield opened
    finally:
        opened.stop()


def write(rows: DataFrame, bundles: str, mode: str = "append", **options: Any) -> None:
    """Write rows to a sink; dots of options are two underscores."""
    given = {name.replace("__", "."): str(value) for name, value in options.items()}
    rows.write.format("hearth").mode(mode).option("plugin.path", bundles).options(**given).save()


def kept(database: Path) -> list[tuple[Any, ...]]:
    """Return what a database has."""
    with sqlite3.connect(database) as opened:
        return opened.execute("SELECT * FROM written ORDER BY topic, partition, offset").fetchall()
