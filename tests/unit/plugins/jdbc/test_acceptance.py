"""The JDBC connectors keep the contract that is asked of everybody's: the standard suite, on SQLite."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from hearth_api import OPTIONAL_STRING_SCHEMA, SchemaBuilder, SinkRecord, Struct
from hearth_api.testing import acceptance_tests
from hearth_jdbc.jdbc_sink import JdbcSinkConnector
from hearth_jdbc.jdbc_source import JdbcSourceConnector

_TEXT = SchemaBuilder.struct().field("text", OPTIONAL_STRING_SCHEMA).build()
_RECORDS = [SinkRecord("t", 0, None, None, _TEXT, Struct.of(_TEXT, {"text": f"text {n}"}), n) for n in range(3)]


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the worlds lie where a test's files do."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def source_world() -> dict[str, str]:
    """Make a database with a few rows."""
    path = Path(tempfile.mkdtemp(), "database")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT)")
        connection.executemany("INSERT INTO t(name) VALUES (?)", [(f"name {number}",) for number in range(5)])
        connection.commit()
    return {"connection.url": f"jdbc:sqlite:{path}", "mode": "incrementing", "poll.interval.ms": "50"}


def sink_world() -> dict[str, str]:
    """Name a database that is not there."""
    path = Path(tempfile.mkdtemp(), "database")
    return {"connection.url": f"jdbc:sqlite:{path}", "auto.create": "true"}


def written(config: Mapping[str, str]) -> Iterator[Struct]:
    """Yield the rows that were written."""
    with closing(sqlite3.connect(config["connection.url"].removeprefix("jdbc:sqlite:"))) as connection:
        for (text,) in connection.execute("SELECT text FROM t ORDER BY rowid"):
            yield Struct.of(_TEXT, {"text": text})


SourceTest = acceptance_tests(JdbcSourceConnector, source_world, count=3)
SinkTest = acceptance_tests(JdbcSinkConnector, sink_world, records=_RECORDS, read_back=written)
