"""SQLite, by the module of the standard library."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import sqlite3
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from hearth_api import DataError, Date, Decimal, Schema, Time, Type
from hearth_api.batch import arrow as pa
from hearth_api.batch import arrow_type
from hearth_jdbc.dialect.interface import MICROS, Column, Dialect, Rows, SqlType, TableId, Upload, no_type

_DECLARED = {
    **dict.fromkeys(("BOOLEAN", "BOOL"), SqlType.BOOLEAN),
    "TINYINT": SqlType.TINYINT,
    **dict.fromkeys(("SMALLINT", "INT2"), SqlType.SMALLINT),
    **dict.fromkeys(("INT", "INTEGER", "MEDIUMINT"), SqlType.INTEGER),
    **dict.fromkeys(("BIGINT", "INT8", "UNSIGNED BIG INT"), SqlType.BIGINT),
    "REAL": SqlType.REAL,
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "FLOAT"), SqlType.DOUBLE),
    "NUMERIC": SqlType.NUMERIC,
    "DECIMAL": SqlType.DECIMAL,
    **dict.fromkeys(("BLOB", "BINARY", "VARBINARY"), SqlType.VARBINARY),
    "DATE": SqlType.DATE,
    "TIME": SqlType.TIME,
    **dict.fromkeys(("TIMESTAMP", "DATETIME"), SqlType.TIMESTAMP),
    "": SqlType.NULL,
}
"""Types of columns as declared; any other is a text, as in SQLite's JDBC driver."""
_SQL_TYPE = {
    **dict.fromkeys((Type.BOOLEAN, Type.INT8, Type.INT16, Type.INT32, Type.INT64), "INTEGER"),
    Type.FLOAT32: "REAL", Type.FLOAT64: "REAL", Type.STRING: "TEXT", Type.BYTES: "BLOB",
}  # fmt: skip
_LOGICAL = (Decimal.LOGICAL_NAME, Date.LOGICAL_NAME, Time.LOGICAL_NAME, MICROS.name)
_DECLARATION = re.compile(r"\s*([^(]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\).*)?$", re.S)
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY_MILLIS = 86_400_000
_TEXT = "text"
"""The form of timestamps that are stored as texts; usually they are milliseconds."""


class SqliteDatabaseDialect(Dialect):
    """SQLite.

    A column has the type it was declared with, and a value may be of another. A column declared INTEGER is INT32 until
    a value needs INT64. Dates, times and timestamps are numbers of milliseconds, as SQLite's JDBC driver writes them,
    or texts. A transaction that writes excludes others, so rows become visible in the order of their numbers.
    """

    NAME = "SqliteDatabaseDialect"
    QUOTE = "`"
    IS_CONCURRENT = False
    Error = sqlite3.Error

    def parse_table(self, text: str) -> TableId:
        """Return the table; a schema is the name of an attached database."""
        parts = [part.strip('`"[]') for part in text.split(".", 1)]
        return TableId(parts[0] if len(parts) > 1 else None, parts[-1])

    def connect(self, timeout: float, *, is_source: bool) -> Any:
        """Open the file; a sink creates it if it is missing."""
        path = self.url.database.removeprefix("file:")
        address = ":memory:" if path in ("", ":memory:") else f"file:{quote(path)}?mode={'rw' if is_source else 'rwc'}"
        connection = sqlite3.connect(
            address, timeout, uri=address != ":memory:", isolation_level=None, check_same_thread=False
        )
        connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()  # a file of another kind fails here
        return connection

    def interrupt(self, connection: Any) -> None:
        """End the running query."""
        connection.interrupt()

    def is_row_fault(self, error: Exception) -> bool:
        """Return whether a constraint failed, or SQLite cannot hold a value."""
        return isinstance(error, (sqlite3.IntegrityError, sqlite3.DataError, sqlite3.InterfaceError))

    def tables(self, connection: Any, types: Collection[str], schema: str | None) -> list[TableId]:
        """Return the tables and views of the main database, which has no schema."""
        kinds = [kind.lower() for kind in types if kind.upper() in ("TABLE", "VIEW")]
        marks = ",".join("?" * len(kinds))
        sql = f"SELECT name FROM sqlite_master WHERE type IN ({marks}) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"  # noqa: S608
        return [TableId(None, name) for (name,) in connection.execute(f"{sql} ORDER BY name", kinds)]

    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns as declared."""
        place = "" if table.schema is None else f"{self.quote(table.schema)}."
        rows = connection.execute(f"PRAGMA {place}table_xinfo({self.quote(table.name)})").fetchall()
        keys = [row for row in rows if row[5]]
        columns = []
        for _, name, declared, is_required, default, key, hidden in rows:
            if hidden == 1:
                continue
            kind, precision, scale = _declared(declared)
            is_row_number = bool(key) and len(keys) == 1 and kind is SqlType.INTEGER
            columns.append(
                Column(
                    name, kind, declared, precision, scale, not is_required and not is_row_number,
                    is_row_number, bool(key), default is not None or hidden > 1 or is_row_number,
                )
            )  # fmt: skip
        return columns

    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Run a query; the columns of one that is no table are described by a temporary view."""
        if table is not None:
            return _SqliteRows(connection.execute(sql), self.describe(connection, table), self.zone)
        connection.execute("DROP VIEW IF EXISTS temp.hearth_query")
        connection.execute(f"CREATE TEMP VIEW hearth_query AS {sql}")
        columns = self.describe(connection, TableId("temp", "hearth_query"))
        connection.execute("DROP VIEW temp.hearth_query")
        return _SqliteRows(connection.execute(sql), columns, self.zone)

    def now(self, connection: Any) -> int:
        """Return the time of this machine, which runs the database."""
        return time.time_ns() // 1000

    def timestamp_form(self, connection: Any, source: str, name: str) -> str:
        """Return whether timestamps are texts, by the first of them."""
        column = self.quote(name)
        sql = f"SELECT typeof({column}) FROM {source} WHERE {column} IS NOT NULL LIMIT 1"  # noqa: S608
        found = connection.execute(sql).fetchone()
        return _TEXT if found is not None and found[0] == _TEXT else ""

    def timestamp_sql(self, name: str, form: str) -> str:
        """Return the column; texts in one form, because they are compared letter by letter."""
        column = self.quote(name)
        return f"strftime('%Y-%m-%d %H:%M:%f',{column})" if form == _TEXT else column

    def timestamp_literal(self, micros: int, form: str) -> str:
        """Return milliseconds, or a text in the zone of the database."""
        if form != _TEXT:
            return str(micros // 1000)
        rounded = (micros + 500) // 1000  # as strftime rounds
        moment = (_EPOCH + dt.timedelta(milliseconds=rounded)).replace(tzinfo=dt.timezone.utc)
        return f"'{moment.astimezone(ZoneInfo(self.zone)).isoformat(' ', 'milliseconds')[:23]}'"

    def isolate(self, connection: Any, mode: str) -> None:
        """Do nothing: every transaction of SQLite is serializable."""

    # Sink --------------------------------------------------------------------------------------------------------

    def column_type(self, schema: Schema) -> str:
        """Return NUMERIC for logical types, as in Java."""
        kind = "NUMERIC" if schema.name in _LOGICAL else _SQL_TYPE.get(schema.type)
        if kind is None:
            raise no_type(schema)
        return kind

    def literal(self, schema: Schema, physical: Any) -> str:
        """Return the value as `SELECT quote(...)` writes it."""
        value = next(iter(_bound(schema, pa.array([physical], arrow_type(schema)))))
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            return str(connection.execute("SELECT quote(?)", (value,)).fetchone()[0])

    def insert(self, connection: Any, upload: Upload) -> None:
        """Insert row by row within one statement."""
        self._run(connection, self._insert_sql(upload), upload, upload.names)

    def upsert(self, connection: Any, upload: Upload) -> None:
        """Insert, and update on a conflict."""
        changes = ",".join(f"{self.quote(name)}=excluded.{self.quote(name)}" for name in upload.others)
        action = f"UPDATE SET {changes}" if changes else "NOTHING"
        conflict = f"ON CONFLICT({','.join(map(self.quote, upload.keys))}) DO {action}"
        self._run(connection, f"{self._insert_sql(upload)} {conflict}", upload, upload.names)

    def update(self, connection: Any, upload: Upload) -> None:
        """Update row by row."""
        changes = ",".join(f"{self.quote(name)}=?" for name in upload.others)
        sql = f"UPDATE {self.quote_table(upload.table)} SET {changes} WHERE {self._is_key(upload)}"  # noqa: S608
        self._run(connection, sql, upload, [*upload.others, *upload.keys])

    def delete(self, connection: Any, upload: Upload) -> None:
        """Delete row by row."""
        sql = f"DELETE FROM {self.quote_table(upload.table)} WHERE {self._is_key(upload)}"  # noqa: S608
        self._run(connection, sql, upload, upload.keys)

    def _is_key(self, upload: Upload) -> str:
        return " AND ".join(f"{self.quote(name)}=?" for name in upload.keys)

    def _insert_sql(self, upload: Upload) -> str:
        names = ",".join(map(self.quote, upload.names))
        marks = ",".join("?" * len(upload.names))
        return f"INSERT INTO {self.quote_table(upload.table)} ({names}) VALUES ({marks})"  # noqa: S608

    def _run(self, connection: Any, sql: str, upload: Upload, order: Sequence[str]) -> None:
        columns = [_bound(upload.schemas[place], upload.arrays[place]) for place in map(upload.names.index, order)]
        connection.executemany(sql, zip(*columns))


def _declared(declaration: str) -> tuple[SqlType, int, int]:
    """Return type, precision and scale of a declaration such as `DECIMAL(10, 2)`."""
    match = _DECLARATION.match(declaration or "")
    word, precision, scale = match.groups() if match else ("", None, None)
    return _DECLARED.get(word.upper(), SqlType.VARCHAR), int(precision or 0), int(scale or 0)


def _bound(schema: Schema, array: Any) -> Iterable[Any]:
    """Return physical values as SQLite takes them: dates and times in milliseconds, decimals as texts."""
    if schema.name == Decimal.LOGICAL_NAME:
        from hearth_jdbc.decimal_column import decimal_texts

        texts: list[Any] = decimal_texts(schema, array).to_pylist()
        return texts
    if schema.name == Date.LOGICAL_NAME:
        return [None if days is None else days * _DAY_MILLIS for days in array.to_pylist()]
    if schema.name == MICROS.name:
        return [None if micros is None else micros // 1000 for micros in array.to_pylist()]
    values: list[Any] = array.to_pylist()
    return values


class _SqliteRows(Rows):
    """Rows of a cursor; SQLite needs no transaction to read them."""

    def __init__(self, cursor: Any, columns: Sequence[Column], zone: str) -> None:
        self._cursor = cursor
        self.columns = columns
        self._zone = zone

    def fetch(self, count: int) -> list[Any] | None:
        rows = self._cursor.fetchmany(count)
        if not rows:
            return None
        cells = list(zip(*rows))
        self.columns = [_known(column, values) for column, values in zip(self.columns, cells)]
        return [self._array(column, values) for column, values in zip(self.columns, cells)]

    def close(self) -> None:
        self._cursor.close()

    def _array(self, column: Column, values: Sequence[Any]) -> Any:
        try:
            return _ARRAYS[column.type](values, self._zone)
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            text = f"column {column.name!r} of type {column.type_name or 'none'} holds a value that does not fit"
            raise DataError(f"{text}: {error}") from error


def _known(column: Column, values: Sequence[Any]) -> Column:
    """Return the column with the type of its first value if it has none, and as BIGINT if INTEGER is too narrow."""
    if column.type is SqlType.NULL:
        first = next((value for value in values if value is not None), None)
        kinds = {int: SqlType.BIGINT, float: SqlType.DOUBLE, bytes: SqlType.VARBINARY}
        return _with_type(column, kinds.get(type(first), SqlType.VARCHAR)) if first is not None else column
    if column.type is SqlType.INTEGER and any(type(each) is int and not -(2**31) <= each < 2**31 for each in values):
        return _with_type(column, SqlType.BIGINT)
    return column


def _with_type(column: Column, kind: SqlType) -> Column:
    return Column(**{**vars(column), "type": kind})


def _whole(values: Sequence[Any], zone: str) -> Any:
    return pa.array([None if value is None else _as_int(value) for value in values], pa.int64())


def _as_int(value: Any) -> int:
    number = int(value)
    if number != float(value) and str(number) != str(value):
        raise ValueError(f"{value!r} is no whole number")
    return number


def _fractions(values: Sequence[Any], zone: str) -> Any:
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _texts(values: Sequence[Any], zone: str) -> Any:
    return pa.array([_as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, str) else str(value)


def _bytes(values: Sequence[Any], zone: str) -> Any:
    return pa.array([value if value is None or isinstance(value, bytes) else str(value).encode() for value in values])


def _truths(values: Sequence[Any], zone: str) -> Any:
    return pa.array([None if value is None else bool(int(value)) for value in values], pa.bool_())


def _dates(values: Sequence[Any], zone: str) -> Any:
    days = [None if value is None else _day(value) for value in values]
    return pa.array(days, pa.int32())


def _day(value: Any) -> int:
    if isinstance(value, str):
        return dt.date.fromisoformat(value[:10]).toordinal() - _EPOCH_DAY
    return int(value // _DAY_MILLIS)


def _times(values: Sequence[Any], zone: str) -> Any:
    return pa.array([None if value is None else _micros_of_day(value) for value in values], pa.int64())


def _micros_of_day(value: Any) -> int:
    if not isinstance(value, str):
        return int(value) % _DAY_MILLIS * 1000
    moment = dt.time.fromisoformat(value)
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond


def _timestamps(values: Sequence[Any], zone: str) -> Any:
    place = ZoneInfo(zone)
    return pa.array([None if value is None else _micros(value, place) for value in values], pa.int64())


def _micros(value: Any, zone: ZoneInfo) -> int:
    if not isinstance(value, str):
        return int(value * 1000)
    text = f"{value[:-1]}+00:00" if value.endswith("Z") else value
    moment = dt.datetime.fromisoformat(_with_whole_fraction(text))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return (moment.astimezone(dt.timezone.utc).replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)


def _with_whole_fraction(text: str) -> str:
    """Return the text of a time with three or six digits after the point, as Python 3.10 requires."""
    return re.sub(r"\.(\d{1,9})", lambda match: f".{match[1][:6]:0<6}", text)


def _unknown(values: Sequence[Any], zone: str) -> Any:
    return pa.array(values, pa.string())


_ARRAYS: dict[SqlType, Callable[[Sequence[Any], str], Any]] = {
    **dict.fromkeys((SqlType.TINYINT, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT), _whole),
    **dict.fromkeys((SqlType.REAL, SqlType.DOUBLE), _fractions),
    **dict.fromkeys((SqlType.NUMERIC, SqlType.DECIMAL, SqlType.VARCHAR), _texts),
    SqlType.VARBINARY: _bytes, SqlType.BOOLEAN: _truths, SqlType.DATE: _dates, SqlType.TIME: _times,
    SqlType.TIMESTAMP: _timestamps, SqlType.NULL: _unknown,
}  # fmt: skip
