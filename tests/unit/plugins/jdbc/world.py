"""A database for each form of a task, with equal content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hearth_api.batch import BatchSinkTask, BatchSourceTask
from tests.unit.plugins.jdbc.database import SqliteDatabase
from tests.unit.plugins.jdbc.test_round_trip import sunk, tables


def polled(_kind: type[BatchSourceTask], data: st.DataObject, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return the records that both forms read from one database; a record has the time of its poll."""
    database = SqliteDatabase(folder / "database")
    rows = _filled(database, data)
    found = []
    for in_columns in (False, True):
        settings = {"mode": "incrementing", "incrementing_column_name": "id", "table_whitelist": "people"}
        with database.source((), in_columns, **settings) as source:
            found.append([record.new_record(timestamp=0) for record in source.take(len(rows))])
    return found[0], found[1]


def put(_kind: type[BatchSinkTask], data: st.DataObject, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return the rows that both forms wrote."""
    origin = SqliteDatabase(folder / "origin")
    rows = _filled(origin, data)
    with origin.source(mode="incrementing", incrementing_column_name="id", table_whitelist="people") as source:
        records = sunk(source.take(len(rows)))
    found = []
    for in_columns in (False, True):
        database = SqliteDatabase(folder / f"{in_columns}")
        with database.sink(in_columns, auto_create="true") as sink:
            sink.put(records)
        found.append(database.rows("SELECT * FROM people ORDER BY id"))
    return found[0], found[1]


def _filled(database: SqliteDatabase, data: st.DataObject) -> list[list[Any]]:
    """Create a table of drawn columns, fill it with drawn rows and return these."""
    kinds, rows = data.draw(tables(database.product), label="table")
    columns = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
    database.run("DROP TABLE IF EXISTS people", f"CREATE TABLE people(id BIGINT PRIMARY KEY NOT NULL, {columns})")
    database.insert("people", [(number, *row) for number, row in enumerate(rows)])
    return rows
