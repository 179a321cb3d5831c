"""DataFrames written to sinks."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hearth.datasource.row_form import first_offset
from tests.bundles.build import plugin_path
from tests.crash.process import stages
from tests.integration.datasource.writing import UPSERT, kept, write
from tests.page import GUIDE, README, block
from tests.peer.hearth_connect import file_bundle
from tests.timeouts import TIMEOUT, eventually


@pytest.fixture(scope="module")
def bundles() -> str:
    """Provide a plugin.path with the sinks."""
    return f"{plugin_path('upsert')},{file_bundle()}"


def test_a_repeated_batch_writes_the_same_offsets(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """A repeated batch number yields the same records, a new one yields more. Names keep their case."""
    database = tmp_path / "d.sqlite"
    rows = spark.range(4, numPartitions=2).selectExpr(
        "concat('v', id) AS value", "map('h', 'x') AS headers", "if(id = 3, 'other', NULL) AS topic"
    )
    options: dict[str, Any] = {"connector__class": UPSERT, "databaseFile": database, "topic": "t"}
    for _ in range(2):
        write(rows, bundles, hearth__batch__id=7, **options)
    base = first_offset(7)
    assert kept(database) == [
        ("other", 1, base + 1, "v3", "h=x", 2),
        ("t", 0, base, "v0", "h=x", 2), ("t", 0, base + 1, "v1", "h=x", 2), ("t", 1, base, "v2", "h=x", 2),
    ]  # fmt: skip
    write(rows, bundles, **options)
    assert len(kept(database)) == 8


def test_the_steps_of_the_guide_run(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """A file is read into a DataFrame, written to another file, and to a third by a query."""
    steps = block("python", "copy.txt", f"{GUIDE}/dataframe.md")
    for name in ("in.txt", "out.txt", "copy.txt", "spool/lines", "checkpoint"):
        steps = steps.replace(f'"{name}"', repr(str(tmp_path / name)))
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    exec(compile(steps.replace('"plugin_path"', repr(bundles)), "dataframe.md", "exec"), {"spark": spark})
    for name in ("out.txt", "copy.txt"):
        assert sorted((tmp_path / name).read_text().split()) == ["one", "three", "two"]


def test_the_dataframe_of_the_readme_counts_lines(
    spark: SparkSession, bundles: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints them."""
    (tmp_path / "in.txt").write_text("one\ntwo\none\n")
    steps = block("python", 'format("hearth")', README).replace('"in.txt"', repr(str(tmp_path / "in.txt")))
    exec(compile(steps.replace('"plugin_path"', repr(bundles)), "README.md", "exec"), {"spark": spark})
    assert re.search(r"\| *one\| *2\|", capsys.readouterr().out)


def test_the_sql_of_the_guide_writes_and_reads(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """Runs each statement in order."""
    steps = block("sql", "USING hearth").replace("'plugin_path'", f"'{bundles}'")
    statements = steps.replace("'fruit.txt'", f"'{tmp_path / 'fruit.txt'}'").split(";\n")
    (*_, last) = [spark.sql(statement) for statement in statements if statement.strip()]
    assert sorted(row.value for row in last.collect()) == ["nut", "pear"]


def test_sql_writes_to_views_and_tables(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """To a view with options, and to a table with the statement's options: Spark passes none of the table's."""
    database = tmp_path / "d.sqlite"
    given = {"plugin.path": bundles, "connector.class": UPSERT, "databaseFile": str(database)}
    of_view = ", ".join(f"'{name}' '{value}'" for name, value in given.items())
    spark.sql(f"CREATE TEMPORARY VIEW sink (value STRING) USING hearth OPTIONS ({of_view})")
    spark.sql("INSERT INTO sink VALUES ('a')")
    of_statement = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    spark.sql("CREATE TABLE kept (value STRING) USING hearth")
    spark.sql(f"INSERT INTO kept WITH ({of_statement}) VALUES ('b')")
    assert sorted(each[3] for each in kept(database)) == ["a", "b"]


def test_a_task_that_dies_is_retried(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """Spark retries its own task: rows come again as the same records."""
    database = tmp_path / "d.sqlite"
    rows = spark.range(100, numPartitions=2).selectExpr("cast(id AS string) AS value")
    write(rows, bundles, connector__class=UPSERT, databaseFile=database, dieOnce=tmp_path / "died")
    found = kept(database)
    assert sorted(int(each[3]) for each in found) == list(range(100))
    assert sum(each[5] for each in found) > 100


def test_a_query_writes_exactly_once_to_a_sink_keyed_by_offsets(
    spark: SparkSession, bundles: str, tmp_path: Path
) -> None:
    """Its task dies after writing rows and before reporting it; the rows come again, and none is stored twice.

    A sink that only appends also receives the identity of each row.
    """
    database, source, lines = tmp_path / "d.sqlite", tmp_path / "in", tmp_path / "out.txt"
    options = {"connector.class": UPSERT, "databaseFile": str(database), "dieOnce": str(tmp_path / "died")}
    schema = "value STRING"

    def run(**given: str) -> None:
        rows = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1").text(str(source))
        writer = rows.writeStream.format("hearth").option("plugin.path", bundles).options(**given)
        query = writer.option("checkpointLocation", str(tmp_path / given["connector.class"])).trigger(
            availableNow=True
        )
        query.start().awaitTermination()

    source.mkdir()
    number = iter(range(1_000_000))
    for file in range(3):
        (source / f"{file}.txt").write_text("".join(f"{next(number)}\n" for _ in range(50)))
    run(**options)
    found = kept(database)
    assert sorted(int(each[3]) for each in found) == list(range(150))
    assert {each[2] // first_offset(1) for each in found} == {0, 1, 2}
    assert sum(each[5] for each in found) > 150

    hoist, insert = "org.apache.kafka.connect.transforms.HoistField$Value", "InsertField$Value"
    run(**{
        "connector.class": "FileStreamSink", "file": str(lines), "transforms": "Hoist,Place",
        "transforms.Hoist.type": hoist, "transforms.Hoist.field": "line",
        "transforms.Place.type": f"org.apache.kafka.connect.transforms.{insert}",
        "transforms.Place.offset.field": "at", "transforms.Place.partition.field": "in",
    })  # fmt: skip
    places = [tuple(map(int, re.findall(r"\d+", line))) for line in lines.read_text().splitlines()]
    assert sorted(place[0] for place in places) == list(range(150))
    assert len({place[1:] for place in places}) == 150


def test_a_task_is_kept_between_micro_batches_and_stopped_afterwards(
    spark: SparkSession, bundles: str, tmp_path: Path
) -> None:
    """A query has one stage, and none after its idle time."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", "5").load()
    database = tmp_path / "d.sqlite"
    writer = rows.selectExpr("cast(value AS string) AS value").coalesce(1).writeStream.format("hearth")
    query = (
        writer.option("plugin.path", bundles).option("connector.class", UPSERT)
        .option("databaseFile", str(database)).option("hearth.keep.ms", "3000")
        .option("checkpointLocation", str(tmp_path / "c")).start()
    )  # fmt: skip
    seen: set[int] = set()

    def has_batches() -> bool:
        seen.update(each.pid for each in stages(os.getpid()))
        if query.exception() is not None:
            raise query.exception()
        return bool(query.lastProgress) and query.lastProgress["batchId"] >= 4

    eventually(has_batches, 120)
    query.stop()
    assert seen
    eventually(lambda: not stages(os.getpid()), TIMEOUT)


@pytest.mark.parametrize(
    ("mode", "options", "message"),
    [
        ("overwrite", {}, "a sink cannot replace its data; use mode"),
        ("append", {"databasefile": ""}, "databaseFile"),
        ("append", {"connector.class": "UpsertSinc"}, "nearest names: "),
        ("append", {"connector.class": "FileStreamSource"}, "is a source: read it with spark.read"),
        ("append", {"hearth.batch.id": "-1"}, "hearth.batch.id"),
    ],
)
def test_the_last_line_of_an_error_has_the_mistake(
    spark: SparkSession, bundles: str, tmp_path: Path, mode: str, options: dict[str, str], message: str
) -> None:
    """Spark's output precedes it."""
    given = {"connector.class": UPSERT, "databaseFile": str(tmp_path / "d"), **options}
    if not given.get("databasefile", "x"):
        del given["databaseFile"], given["databasefile"]
    writer = spark.range(1).selectExpr("'v' AS value").write.format("hearth").mode(mode)
    with pytest.raises(Exception, match="hearth") as caught:
        writer.option("plugin.path", bundles).options(**given).save()
    lines = [line for line in str(caught.value).splitlines() if "DataSourceFailed: " in line]
    assert message in lines[-1]
