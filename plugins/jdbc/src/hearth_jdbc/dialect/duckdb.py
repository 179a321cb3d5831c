"""DuckDB, a database in the task's process: files, names, columns as described."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import duckdb

from hearth_jdbc.dialect.interface import Column, Dialect, SqlType, TableId

_NAME = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')
_TYPES = {
    "BOOLEAN": SqlType.BOOLEAN, "TINYINT": SqlType.TINYINT, "UTINYINT": SqlType.SMALLINT,
    "SMALLINT": SqlType.SMALLINT, "USMALLINT": SqlType.INTEGER, "INTEGER": SqlType.INTEGER,
    "UINTEGER": SqlType.BIGINT, "BIGINT": SqlType.BIGINT, "UBIGINT": SqlType.BIGINT, "HUGEINT": SqlType.DECIMAL,
    "FLOAT": SqlType.REAL, "DOUBLE": SqlType.DOUBLE, "DECIMAL": SqlType.DECIMAL, "VARCHAR": SqlType.VARCHAR,
    "UUID": SqlType.VARCHAR, "JSON": SqlType.VARCHAR, "ENUM": SqlType.VARCHAR, "BLOB": SqlType.VARBINARY,
    "DATE": SqlType.DATE, "TIME": SqlType.TIME, "TIMESTAMP": SqlType.TIMESTAMP, "TIMESTAMP_S": SqlType.TIMESTAMP,
    "TIMESTAMP_MS": SqlType.TIMESTAMP, "TIMESTAMP_NS": SqlType.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": SqlType.TIMESTAMP,
}  # fmt: skip
_TYPE = re.compile(r"([A-Z_ ]+?)(?:\((\d+),(\d+)\)|\('.*)?")
_HUGE_DIGITS = 38


class DuckDb(Dialect):
    """DuckDB. One process at a time has a file open to write."""

    Error = duckdb.Error

    def parse_table(self, text: str) -> TableId:
        """Return the table, with its schema if the name has one."""
        parts = [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(text)]
        return TableId(parts[-2] if len(parts) > 1 else None, parts[-1])

    def connect(self, timeout: float) -> Any:
        """Open the file, or a database in memory."""
        return duckdb.connect(self.url.database or ":memory:")

    def interrupt(self, connection: Any) -> None:
        """End the running query."""
        connection.interrupt()

    def is_row_fault(self, error: Exception) -> bool:
        """Return whether a constraint failed, or a value does not fit its column."""
        return isinstance(error, (duckdb.IntegrityError, duckdb.DataError))

    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns of a table or view."""
        try:
            return self.described(connection, f"SELECT * FROM {self.quote_table(table)}")  # noqa: S608 - quoted names
        except duckdb.CatalogException:
            return []

    def described(self, connection: Any, sql: str) -> list[Column]:
        """Return the columns of a query."""
        return [_column(*row[:5]) for row in self.rows(connection, f"DESCRIBE {sql}")]

    def execute(self, connection: Any, sql: str) -> int:
        """Run a statement and return how many rows it changed, which DuckDB returns as its result."""
        rows = connection.execute(sql).fetchall()
        return int(rows[0][0]) if rows and isinstance(rows[0][0], int) else 0


def _column(name: str, declared: str, null: str, key: str | None, default: str | None) -> Column:
    match = _TYPE.fullmatch(declared)
    kind = _TYPES.get(match[1], SqlType.OTHER) if match else SqlType.OTHER
    precision, scale = (int(match[2] or 0), int(match[3] or 0)) if match else (0, 0)
    if declared == "HUGEINT":
        precision = _HUGE_DIGITS
    return Column(
        name, kind, declared.lower(), precision, scale, null == "YES", (default or "").startswith("nextval("),
        key == "PRI", default is not None, is_zoned=declared == "TIMESTAMP WITH TIME ZONE",
    )  # fmt: skip


def nested_column(column: Column, kind: Any) -> Column:
    """Return a column with its parts, by DuckDB's own description of its type; a plain column as it is."""
    if kind.id == "struct":
        parts = tuple(_part(name, child) for name, child in kind.children)
        found = SqlType.STRUCT if parts and all(part.name for part in parts) else SqlType.OTHER
    elif kind.id == "map":
        parts = tuple(_part(name, child) for name, child in kind.children)
        parts = (replace(parts[0], is_optional=False), parts[1])
        found = SqlType.MAP
    elif kind.id in ("list", "array"):
        parts, found = (_part(*kind.children[0]),), SqlType.ARRAY
    else:
        return column
    return replace(column, type=found, parts=parts) if found is not SqlType.OTHER else column


def _part(name: str, kind: Any) -> Column:
    return nested_column(_column(name, str(kind), "YES", None, None), kind)
