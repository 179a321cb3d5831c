"""Java's connectors are data sources as Python's are."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.integration.datasource.writing import write
from tests.peer.plugin_list import place

pytestmark = pytest.mark.slow

PACKAGE = "org.apache.kafka.connect.file"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Provide a plugin.path with Kafka's own file connectors."""
    folder = tmp_path_factory.mktemp("plugins")
    place("connect-file", folder)
    return str(folder)


def test_stream_of_a_java_source_has_each_record_once(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """A second query goes on from the checkpoint; no Kafka is between."""
    lines, seen = tmp_path / "lines.txt", list[str]()
    given = {
        "connector.class": f"{PACKAGE}.FileStreamSourceConnector", "file": str(lines), "topic": "t",
        "plugin.path": bundles, "hearth.spool": str(tmp_path / "spool"),
    }  # fmt: skip
    expected = [f"line {number}" for number in range(2_000)]
    for text in (expected[:1_500], expected[1_500:]):
        with lines.open("a") as file:
            file.write("".join(f"{line}\n" for line in text))
        frame = spark.readStream.format("hearth").options(**given).schema("value string, source_offset string").load()
        query = (
            frame.writeStream.foreachBatch(lambda rows, _: seen.extend(row.value for row in rows.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
    assert seen == expected


def test_rows_are_written_to_a_java_sink(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """Each as a record of its partition, in order."""
    rows = spark.range(1_000, numPartitions=1).selectExpr("concat('v', id) AS value")
    sink = f"{PACKAGE}.FileStreamSinkConnector"
    write(rows, bundles, connector__class=sink, file=tmp_path / "out.txt", topic="t")
    assert (tmp_path / "out.txt").read_text().splitlines() == [f"v{number}" for number in range(1_000)]
