"""Databases of tests, one class per product, and runs of the connectors on them."""

from __future__ import annotations

import datetime as dt
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hearth_api import SinkRecord, SourceRecord, TopicPartition
from hearth_api.testing import SinkRun, SourceRun
from hearth_jdbc.jdbc_sink import JdbcSinkConnector
from hearth_jdbc.jdbc_source import JdbcSourceConnector

TOPIC = "people"
Offsets = Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]


class Database(ABC):
    """A database with its words for what tests need."""

    product: ClassVar[str]
    NUMBER: ClassVar[str]
    """A primary key that counts by itself."""
    MOMENT: ClassVar[str]
    """A timestamp column that must be given."""
    schema: ClassVar[str | None] = None

    @abstractmethod
    def settings(self) -> dict[str, str]:
        """Return the keys by which connectors reach it."""

    @abstractmethod
    def run(self, *statements: str) -> None:
        """Run statements and commit."""

    @abstractmethod
    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    @abstractmethod
    def written_moment(self, moment: dt.datetime, day: dt.date) -> tuple[Any, ...]:
        """Return what the database holds for three columns of a local time in Berlin, and perhaps a day."""

    def source(self, offsets: Offsets = (), columns: bool = True, /, **settings: str) -> SourceRun:
        """Return a run of the source; keys have underscores instead of points."""
        config = {**self.settings(), "poll.interval.ms": "20", **dotted(settings)}
        return SourceRun(JdbcSourceConnector, config, offsets, in_columns=columns)

    def sink(self, columns: bool = True, /, **settings: str) -> SinkRun:
        """Return a run of the sink."""
        config = {**self.settings(), "retry.backoff.ms": "10", **dotted(settings)}
        return SinkRun(JdbcSinkConnector, config, {TopicPartition(TOPIC, 0)}, in_columns=columns)

    def partition(self, table: str) -> dict[str, str]:
        """Return the source partition of a table."""
        return {"protocol": "1", "table": table if self.schema is None else f"{self.schema}.{table}"}


def dotted(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings with points in their names."""
    return {name.replace("_", "."): value for name, value in settings.items()}


class SqliteDatabase(Database):
    """A file."""

    product = "sqlite"
    NUMBER = "INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL"
    MOMENT = "TIMESTAMP NOT NULL"

    def __init__(self, path: Path) -> None:
        self.path = path
        sqlite3.connect(path).execute("VACUUM")

    def settings(self) -> dict[str, str]:
        return {"connection.url": f"jdbc:sqlite:{self.path}"}

    def run(self, *statements: str) -> None:
        connection = sqlite3.connect(self.path)
        for sql in statements:
            connection.execute(sql)
        connection.commit()
        connection.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path)
        found = connection.execute(sql).fetchall()
        connection.close()
        return found

    def written_moment(self, moment: dt.datetime, day: dt.date) -> tuple[Any, ...]:
        millis = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1) - 2 * 3_600_000
        return (millis,) * 3


def record(offset: int, schema: Any, value: Any, key_schema: Any = None, key: Any = None) -> SinkRecord:
    """Return a record of the topic."""
    return SinkRecord(TOPIC, 0, key_schema, key, schema, value, offset)


def values(records: Sequence[SourceRecord], name: str) -> list[Any]:
    """Return one field of the values of records."""
    return [each.value[name] for each in records]
