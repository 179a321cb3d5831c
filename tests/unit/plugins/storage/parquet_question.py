"""The questions to Java's parquet-avro 1.15.2, which Confluent's sinks use, for the golden file of Parquet.

JAVA_HOME=... python -m tests.unit.plugins.storage.parquet_question asks them and writes the file. AvroData, which
makes the Avro schemas, is in no public repository; its own golden files are those of the registry bundle.
"""

from __future__ import annotations

import base64
import io
import json
import lzma
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pyspark

from hearth.foundation.java import find_java
from hearth.maven.ivy import Coordinates, Progress, download
from hearth_api.batch import values_to_column
from hearth_api.java import schema_to_text
from hearth_storage.format.avro import AvroFormat
from tests.unit.plugins.storage.parquet_sample import ALL, NULLABLE_ITEMS, rows

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "parquet.jsonl.xz"
PARQUET = [
    Coordinates("org.apache.parquet", f"parquet-{name}", "1.15.2")
    for name in ("avro", "hadoop", "column", "common", "encoding", "format-structures", "jackson")
]


def questions() -> list[dict[str, Any]]:
    """Return each schema, and its rows as an Avro file."""
    cases = []
    for schema in ALL:
        out = io.BytesIO()
        writer = AvroFormat({}).writer(out, schema)
        writer.write(values_to_column(schema, rows(schema)))
        writer.close()
        avro = base64.b64encode(out.getvalue()).decode()
        cases.append({"connect": schema_to_text(schema), "old_lists": schema is not NULLABLE_ITEMS, "avro": avro})
    return cases


def main() -> None:
    """Write the golden file."""
    with tempfile.TemporaryDirectory() as folder:
        found = download(PARQUET, Path(folder), Progress(title="parquet-avro"))
        jars = ":".join(map(str, [*found.values(), Path(pyspark.__file__).parent / "jars" / "*"]))
        java = Path(find_java().executable)
        source = HERE / "ParquetAnswers.java"
        subprocess.run((java.with_name("javac"), "-nowarn", "-cp", jars, "-d", folder, source), check=True)
        command = (java, "-cp", f"{folder}:{jars}", "ParquetAnswers")
        lines = "".join(json.dumps(case) + "\n" for case in questions())
        ended = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", check=True)
        GOLDEN.write_bytes(lzma.compress(ended.stdout.encode(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    main()
