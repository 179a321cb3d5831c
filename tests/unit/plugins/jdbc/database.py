"""Databases of tests, one class per product, and runs of the connectors on them."""

from __future__ import annotations

import datetime as dt
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import psycopg
import pymysql

from hearth_api import SinkRecord, SourceRecord, TopicPartition
from hearth_api.testing import SinkRun, SourceRun
from hearth_jdbc.jdbc_sink import JdbcSinkConnector
from hearth_jdbc.jdbc_source import JdbcSourceConnector
from tests import mariadb
from tests.mariadb import MariaDb
from tests.postgresql import PASSWORD, USER, PostgreSql

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
    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows."""

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

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        connection = sqlite3.connect(self.path)
        connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
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


class PostgreSqlDatabase(Database):
    """A database of a server."""

    product = "postgresql"
    NUMBER = "BIGSERIAL PRIMARY KEY"
    MOMENT = "TIMESTAMP NOT NULL"
    schema = "public"

    def __init__(self, server: PostgreSql, name: str) -> None:
        self.server = server
        self.name = name
        with self.connect("postgres") as connection:
            connection.execute(f"CREATE DATABASE {name}")

    def connect(self, name: str = "") -> psycopg.Connection[Any]:
        """Return a connection of the tests' own."""
        where = {"host": "127.0.0.1", "port": self.server.port, "user": USER, "password": PASSWORD}
        return psycopg.connect(**where, dbname=name or self.name, autocommit=True)  # type: ignore[arg-type]

    def settings(self) -> dict[str, str]:
        url = f"jdbc:postgresql://127.0.0.1:{self.server.port}/{self.name}?reWriteBatchedInserts=true"
        return {"connection.url": url, "connection.user": USER, "connection.password": PASSWORD}

    def run(self, *statements: str) -> None:
        with self.connect() as connection:
            for sql in statements:
                connection.execute(sql)

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        marks = ",".join(["%s"] * len(rows[0]))
        with self.connect() as connection:
            connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection:
            return connection.execute(sql).fetchall()

    def written_moment(self, moment: dt.datetime, day: dt.date) -> tuple[Any, ...]:
        return moment, moment, moment, day


class MariaDbDatabase(Database):
    """A database of a server."""

    product = "mariadb"
    NUMBER = "BIGINT AUTO_INCREMENT PRIMARY KEY"
    MOMENT = "DATETIME(6) NOT NULL"

    def __init__(self, server: MariaDb, name: str) -> None:
        self.server = server
        self.schema = self.name = name  # type: ignore[misc]
        server.run(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")

    def connect(self) -> Any:
        """Return a connection of the tests' own."""
        where = {"host": "127.0.0.1", "port": self.server.port, "user": mariadb.USER, "password": mariadb.PASSWORD}
        quotes = "SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')"
        return pymysql.connect(**where, database=self.name, autocommit=True, charset="utf8mb4", init_command=quotes)

    def settings(self) -> dict[str, str]:
        url = f"jdbc:mariadb://127.0.0.1:{self.server.port}/{self.name}?useSSL=false&rewriteBatchedStatements=true"
        return {"connection.url": url, "connection.user": mariadb.USER, "connection.password": mariadb.PASSWORD}

    def run(self, *statements: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.executemany(f"INSERT INTO {table} VALUES ({','.join(['%s'] * len(rows[0]))})", rows)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def written_moment(self, moment: dt.datetime, day: dt.date) -> tuple[Any, ...]:
        return moment, moment, moment, day


class DuckDbDatabase(Database):
    """A file that this process has open."""

    product = "duckdb"
    NUMBER = "BIGINT PRIMARY KEY DEFAULT nextval('numbers')"
    MOMENT = "TIMESTAMP NOT NULL"
    schema = "main"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open()
        self.run("CREATE SEQUENCE numbers")

    def open(self) -> None:
        """Open the file, which no other process has."""
        self.connection = duckdb.connect(self.path)

    def settings(self) -> dict[str, str]:
        return {"connection.url": f"jdbc:duckdb:{self.path}"}

    def run(self, *statements: str) -> None:
        for sql in statements:
            self.connection.execute(sql)

    def insert(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        self.connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()

    def written_moment(self, moment: dt.datetime, day: dt.date) -> tuple[Any, ...]:
        return moment, moment, moment, day


def record(offset: int, schema: Any, value: Any, key_schema: Any = None, key: Any = None) -> SinkRecord:
    """Return a record of the topic."""
    return SinkRecord(TOPIC, 0, key_schema, key, schema, value, offset)


def values(records: Sequence[SourceRecord], name: str) -> list[Any]:
    """Return one field of the values of records."""
    return [each.value[name] for each in records]
