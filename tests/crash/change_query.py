"""The program of a ledger of changes: the guide's query of a database's changes, which it writes to Parquet.

``python -m tests.crash.change_query FOLDER OTHER``: the folder has ``plugin_path`` and gets everything else; OTHER is
a JSON object of texts that replace texts of the guide. The program ends when a file ``done`` exists there and no
changes have come for a while.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import hearth.spark
from tests.page import GUIDE, block
from tests.spark_python import short_lived

QUIET_SECONDS = 8.0


def main(folder: Path, other: dict[str, str]) -> None:
    """Run the query until the changes are read."""
    os.chdir(folder)
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
    steps = block("python", "MariaDbConnector", f"{GUIDE}/dataframe.md")
    for text, replacement in other.items():
        steps = steps.replace(f'"{text}"', json.dumps(replacement))
    names = {"spark": spark}
    exec(compile(steps, "dataframe.md", "exec"), names)
    query: Any = names["query"]
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
