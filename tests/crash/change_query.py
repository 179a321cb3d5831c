"""The program of a ledger of changes: a database's changes as a streaming DataFrame, written to Parquet.

``python -m tests.crash.change_query FOLDER OPTIONS``: the options of the read are JSON; checkpoint and files are in
the folder. The program ends when a file ``done`` exists there and no changes have come for a while.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import hearth.spark
from tests.spark_python import short_lived

QUIET_SECONDS = 8.0


def main(folder: Path, options: dict[str, str]) -> None:
    """Run the query until the changes are read."""
    spark = hearth.spark.session(
        {
            **short_lived(),
            "spark.master": "local[2]",
            "spark.ui.enabled": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.python.worker.idleTimeoutSeconds": "0",
        }
    )
    spark.sparkContext.setLogLevel("ERROR")
    query = (
        spark.readStream.format("hearth")
        .options(**options)
        .schema("value struct<id int, n int>")
        .load()
        .select("value.id", "value.n")
        .writeStream.format("parquet")
        .option("path", str(folder / "parquet"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    (folder / "running").write_text(str(os.getpid()))
    last, since = -1, time.monotonic()
    while query.isActive and not ((folder / "done").exists() and time.monotonic() - since > QUIET_SECONDS):
        progress = query.lastProgress
        if progress is None or progress["numInputRows"] or progress["batchId"] != last:
            since, last = time.monotonic(), -1 if progress is None else progress["batchId"]
        time.sleep(0.1)
    if query.exception() is not None:
        raise SystemExit(str(query.exception()))
    query.stop()
    (folder / "over").touch()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
