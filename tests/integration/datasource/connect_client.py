"""The program of a Spark Connect user, who has Spark's client and neither Hearth nor a JVM.

``python connect_client.py URL BUNDLES FOLDER`` prints as JSON what it read and wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

sys.modules["hearth"] = None  # type: ignore[assignment]  # a later import of it fails


def main(url: str, bundles: str, folder: Path) -> None:
    """Read a file as a batch and as a stream, write it, and print the error of a wrong option."""
    spark: Any = SparkSession.builder.remote(url).getOrCreate()
    lines = folder / "lines.txt"
    lines.write_text("".join(f"line {number}\n" for number in range(1000)))
    source = {"plugin.path": bundles, "connector.class": "FileStreamSource", "file": str(lines), "topic": "t"}
    sink = {"plugin.path": bundles, "connector.class": "FileStreamSink"}

    read = spark.read.format("hearth").options(**source).load()
    found: dict[str, Any] = {
        "columns": read.columns,
        "rows": read.count(),
        "first": read.orderBy("source_offset").first().value,
    }
    read.select("value").write.format("hearth").mode("append").options(**sink, file=str(folder / "out.txt")).save()

    for where in ("driver", "executors"):
        streamed = spark.readStream.format("hearth").options(**source).option("hearth.tasks.on", where)
        query = (
            streamed.option("hearth.spool", str(folder / f"spool-{where}")).schema("value string").load()
            .writeStream.format("hearth").options(**sink, file=str(folder / f"{where}.txt"))
            .option("checkpointLocation", str(folder / f"checkpoint-{where}")).trigger(availableNow=True).start()
        )  # fmt: skip
        found[where] = query.awaitTermination(120)
    try:
        spark.read.format("hearth").options(**source | {"connector.class": "NoSuchSource"}).load().collect()
    except PySparkException as error:
        found["error"] = str(error)
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
