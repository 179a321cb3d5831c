"""Writes to SQLite, row by row within one statement."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from hearth_api import Date, Decimal, Schema, Time, Type
from hearth_api.batch import arrow as pa
from hearth_api.batch import arrow_type
from hearth_jdbc.dialect.interface import MICROS
from hearth_jdbc.dialect.sink_dialect import SinkDialect, Upload, no_type
from hearth_jdbc.dialect.sqlite import Sqlite

_SQL_TYPE = {
    **dict.fromkeys((Type.BOOLEAN, Type.INT8, Type.INT16, Type.INT32, Type.INT64), "INTEGER"),
    Type.FLOAT32: "REAL", Type.FLOAT64: "REAL", Type.STRING: "TEXT", Type.BYTES: "BLOB",
}  # fmt: skip
_LOGICAL = (Decimal.LOGICAL_NAME, Date.LOGICAL_NAME, Time.LOGICAL_NAME, MICROS.name)
_DAY_MILLIS = 86_400_000


class SqliteSink(Sqlite, SinkDialect):
    """Writes to SQLite."""

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


def _bound(schema: Schema, array: Any) -> Iterable[Any]:
    """Return physical values as SQLite takes them: dates and times in milliseconds, decimals as texts."""
    if schema.name == Decimal.LOGICAL_NAME:
        from hearth_jdbc.decimal_column import decimal_texts

        texts: list[Any] = decimal_texts(schema, array).to_pylist()
        return texts
    if schema.name == Date.LOGICAL_NAME:
        array = pa.compute.multiply(array.cast(pa.int64()), _DAY_MILLIS)
    elif schema.name == MICROS.name:
        from hearth_jdbc.column_field import floor_divided

        array = floor_divided(array, 1000)
    values: list[Any] = array.to_pylist()
    return values
