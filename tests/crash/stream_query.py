"""The program whose processes a stream's ledger kills: two queries over one growing file, each with its own spool.

After a restart it continues from its checkpoints. ``python -m tests.crash.stream_query FOLDER BUNDLE MASTER WHERE``:
the file is ``lines`` in the folder, WHERE says where tasks run, and the queries write ``parquet`` in the folder and,
through an upserting sink, ``rows.db``. The program ends with the first of its queries, and when a file ``done``
exists and all lines are read.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.spark_python import short_lived

COLUMNS = "value string, source_offset string"


def started(spark: SparkSession, folder: Path, bundle: str, where: str, name: str) -> Any:
    """Return the writer of a query over the file."""
    frame = (
        spark.readStream.format("hearth")
        .option("connector.class", "FileStreamSource")
        .option("file", str(folder / "lines"))
        .option("topic", "t")
        .option("plugin.path", bundle)
        .option("hearth.spool", str(folder / f"spool-{name}"))
        .option("hearth.max.records.per.trigger", "20000")
        .option("hearth.tasks.on", where)
        .schema(COLUMNS)
        .load()
    )
    writer = frame.writeStream.queryName(name).option("checkpointLocation", str(folder / f"checkpoint-{name}"))
    return writer.trigger(availableNow=True) if (folder / "done").exists() else writer


def main(folder: Path, bundle: str, master: str, where: str) -> None:
    """Run both queries until one ends."""
    builder = SparkSession.builder.master(master)
    for name, value in short_lived().items():
        builder = builder.config(name, value)
    spark = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.executor.memory", "512m")
        .config("spark.python.worker.idleTimeoutSeconds", "0")
        .config("spark.sql.streaming.minBatchesToRetain", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    queries = [
        started(spark, folder, bundle, where, "parquet")
        .format("parquet")
        .option("path", str(folder / "parquet"))
        .start(),
        started(spark, folder, bundle, where, "rows")
        .format("hearth")
        .option("connector.class", "org.example.upsert.UpsertSinkConnector")
        .option("databaseFile", str(folder / "rows.db"))
        .option("plugin.path", bundle)
        .option("topic", "t")
        .start(),
    ]
    while not all(query.lastProgress or not query.isActive for query in queries):
        time.sleep(0.05)  # by now the reader, its stages and workers run, and may be killed as well
    (folder / "running").write_text(str(os.getpid()))
    if (folder / "done").exists():
        for query in queries:
            query.awaitTermination()
        (folder / "over").touch()
    else:
        spark.streams.awaitAnyTermination()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4])
