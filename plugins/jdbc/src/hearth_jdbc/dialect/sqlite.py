"""SQLite, by the module of the standard library: files, names, columns as declared."""

from __future__ import annotations

import re
import sqlite3
from typing import Any
from urllib.parse import quote

from hearth_jdbc.dialect.interface import Column, Dialect, SqlType, TableId

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
_DECLARATION = re.compile(r"\s*([^(]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\).*)?$", re.S)


class Sqlite(Dialect):
    """SQLite.

    A column has the type it was declared with, and a value may be of another. A column declared INTEGER is INT32 until
    a value needs INT64. Dates, times and timestamps are numbers of milliseconds, as SQLite's JDBC driver writes them,
    or texts. A transaction that writes excludes others, so rows become visible in the order of their numbers.
    """

    QUOTE = "`"
    Error = sqlite3.Error

    def parse_table(self, text: str) -> TableId:
        """Return the table; a schema is the name of an attached database."""
        parts = [part.strip('`"[]') for part in text.split(".", 1)]
        return TableId(parts[0] if len(parts) > 1 else None, parts[-1])

    def connect(self, timeout: float) -> Any:
        """Open the file; a sink creates it if it is missing."""
        path = self.url.database.removeprefix("file:")
        mode = "rw" if self.IS_SOURCE else "rwc"
        address = ":memory:" if path in ("", ":memory:") else f"file:{quote(path)}?mode={mode}"
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


def _declared(declaration: str) -> tuple[SqlType, int, int]:
    """Return type, precision and scale of a declaration such as `DECIMAL(10, 2)`."""
    match = _DECLARATION.match(declaration or "")
    word, precision, scale = match.groups() if match else ("", None, None)
    return _DECLARED.get(word.upper(), SqlType.VARCHAR), int(precision or 0), int(scale or 0)
