"""DataFrames read from sources, with the format as Spark finds it by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.peer.hearth_connect import file_bundle

HOIST = {
    "transforms": "h", "transforms.h.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    "transforms.h.field": "lineText",
}  # fmt: skip


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Provide a file of lines."""
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"line {number}\n" for number in range(1000)))
    return path


def options(lines: Path, **more: Any) -> dict[str, str]:
    """Return the options of a read; dots are two underscores."""
    own = {"connector.class": "FileStreamSource", "file": str(lines), "topic": "t", "plugin.path": str(file_bundle())}
    return own | {name.replace("__", "."): str(value) for name, value in more.items()}


def test_a_source_is_a_dataframe(spark: SparkSession, lines: Path) -> None:
    """All columns, without a schema."""
    frame = spark.read.format("hearth").options(**options(lines)).load()
    rows = frame.orderBy("source_offset").collect()
    assert sorted(row.value for row in rows) == sorted(f"line {number}" for number in range(1000))
    assert {(row.topic, row.key, row.headers, row.partition) for row in rows} == {("t", None, None, None)}
    assert all(row.timestamp is not None and str(lines) in row.source_partition for row in rows)
    assert frame.selectExpr("max(cast(get_json_object(source_offset, '$.position') AS int))").first()[0] == 8890


def test_sql_reads_transformed_records(spark: SparkSession, lines: Path) -> None:
    """Transformation settings keep the case of names, and so do fields."""
    given = ", ".join(
        f"'{name}' '{value}'" for name, value in options(lines, **HOIST, hearth__max__records=10).items()
    )
    spark.sql(f"CREATE TEMPORARY VIEW hoisted USING hearth OPTIONS ({given})")
    assert spark.table("hoisted").schema["value"].dataType.simpleString() == "struct<lineText:string>"
    assert spark.sql("SELECT value.lineText FROM hoisted").count() == 10
    spark.sql("DROP VIEW hoisted")


def test_sql_reads_a_table_with_the_options_of_the_statement(spark: SparkSession, lines: Path) -> None:
    """With a probed or a declared schema; Spark passes none of the table's options to a reader."""
    given = options(lines)
    of_table = ", ".join(f"'{name}' '{value}'" for name, value in given.items())
    of_statement = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    spark.sql(f"CREATE TABLE probed USING hearth OPTIONS ({of_table})")
    spark.sql("CREATE TABLE given (value STRING, source_offset STRING) USING hearth")
    try:
        found = spark.sql(f"SELECT count(DISTINCT value), max(topic) FROM probed WITH ({of_statement})").first()
        assert tuple(found) == (1000, "t")
        rows = spark.sql(f"SELECT * FROM given WITH ({of_statement}) WHERE source_offset = '{{\"position\":7}}'")
        assert (rows.columns, rows.collect()) == (["value", "source_offset"], [("line 0", '{"position":7}')])
        with pytest.raises(PySparkException, match=r"FROM t WITH \('connector\.class' = "):
            spark.sql("SELECT * FROM probed").collect()
    finally:
        spark.sql("DROP TABLE probed")
        spark.sql("DROP TABLE given")


def test_values_can_be_read_as_json_or_bytes(spark: SparkSession, lines: Path) -> None:
    """As JSON with any converter, also as a variant; or as the bytes that the converter writes."""
    text = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
    given = options(lines, **HOIST, hearth__max__records=1) | text
    read = spark.read.format("hearth")
    assert read.options(**given).option("hearth.value", "json").load().first().value == '{"lineText":"line 0"}'
    assert read.options(**given).option("hearth.value", "binary").load().first().value == b"Struct{lineText=line 0}"
    variant = read.options(**given).option("hearth.value", "variant").load()
    assert variant.schema["value"].dataType.simpleString() == "variant"
    assert variant.selectExpr("variant_get(value, '$.lineText', 'string') AS text").first().text == "line 0"


@pytest.mark.parametrize("where", ["driver", "executors"])
def test_available_now_streams_continue_from_the_checkpoint(
    spark: SparkSession, lines: Path, tmp_path: Path, where: str
) -> None:
    """Each line once, in any of the runs, wherever its task ran."""
    seen: list[str] = []
    progress: list[int] = []

    def run() -> None:
        given = options(lines, hearth__spool=tmp_path / "spool", hearth__tasks__on=where)
        frame = spark.readStream.format("hearth").options(**given)
        query = (
            frame.schema("value string").load().writeStream
            .foreachBatch(lambda rows, _: seen.extend(row.value for row in rows.collect()))
            .option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        progress.append(json.loads(query.lastProgress["sources"][0]["latestOffset"])["rows"])

    run()
    with lines.open("a") as file:
        file.write("one more\n")
    run()
    assert seen == [*(f"line {number}" for number in range(1000)), "one more"]
    assert progress == [1000, 1001]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"file": "missing"}, "hearth.probe.ms"),
        ({"batch.size": "many"}, "batch.size"),
        ({"connector.class": "NoSuchSource"}, "NoSuchSource"),
        ({"connector.class": "FileStreamSink"}, "df.write"),
        ({"hearth.spol": "x"}, "hearth.spool"),
        ({"transforms": "a", "transforms.a.type": "No$Such"}, "No$Such"),
    ],
)
def test_the_last_line_of_an_error_has_the_reason(
    spark: SparkSession, lines: Path, given: dict[str, str], message: str
) -> None:
    """Key, value and remedy are on the last line; the lines above it are Spark's."""
    wrong = {**options(lines, hearth__probe__ms=500), **given}
    with pytest.raises(PySparkException) as raised:
        spark.read.format("hearth").options(**wrong).load().collect()
    assert message in last_line(raised.value)


def test_a_null_in_a_not_null_column_is_reported(spark: SparkSession, lines: Path) -> None:
    """Spark does not check a schema that the user declares."""
    read = spark.read.format("hearth").options(**options(lines)).schema("key string NOT NULL, value string")
    with pytest.raises(PySparkException) as raised:
        read.load().collect()
    assert "a record has null as key" in last_line(raised.value)
    assert ".schema(...)" in last_line(raised.value)


def last_line(error: Exception) -> str:
    """Return the last line that is not empty."""
    return next(line for line in reversed(str(error).splitlines()) if line.strip() and "SQLSTATE" not in line)
