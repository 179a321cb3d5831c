"""Tables of a database as DataFrames, by the JDBC bundle in an environment of its own."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pyspark.sql import SparkSession

from hearth.cli.main import run
from tests.page import GUIDE, block

PROJECT = Path(__file__).parents[3] / "plugins" / "jdbc"


def test_the_tables_of_the_guide_are_read_and_written(spark: SparkSession, tmp_path: Path) -> None:
    """A decimal stays one; a row that is written again is changed."""
    assert run(["bundle", "pack", str(PROJECT), "--output", str(tmp_path / "bundles")]) == 0
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.execute("CREATE TABLE orders(id BIGINT PRIMARY KEY NOT NULL, name TEXT, price DECIMAL(10,2))")
        connection.execute("INSERT INTO orders VALUES (1, 'a', '1.50'), (2, NULL, '2.50'), (3, 'c', '3.25')")
        connection.commit()
    steps = block("python", "JdbcSource", f"{GUIDE}/dataframe.md").replace(
        '"plugin_path"', repr(str(tmp_path / "bundles"))
    )
    for name in ("shop.db", "copy.db"):
        steps = steps.replace(f"jdbc:sqlite:{name}", f"jdbc:sqlite:{tmp_path / name}")
    for _ in range(2):
        found: dict[str, object] = {"spark": spark}
        exec(compile(steps, "dataframe.md", "exec"), found)
    assert found["orders"].schema["price"].dataType.simpleString() == "decimal(10,2)"  # type: ignore[attr-defined]
    with closing(sqlite3.connect(tmp_path / "copy.db")) as connection:
        rows = connection.execute("SELECT id, name, price FROM dear_orders ORDER BY id").fetchall()
    assert rows == [(2, None, 2.5), (3, "c", 3.25)]
