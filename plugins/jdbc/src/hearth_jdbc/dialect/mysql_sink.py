"""Writes to MySQL and MariaDB: statements with the values of many rows, whose texts are made a column at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Date, Decimal, Schema, Time, Type
from hearth_api.batch import arrow_type
from hearth_jdbc.dialect.interface import IDLE_TRANSACTION, MICROS
from hearth_jdbc.dialect.mysql import MySql, text_literal
from hearth_jdbc.dialect.sink_dialect import SinkDialect, Upload, no_type
from hearth_jdbc.logical_column import local_moments, logical_column

_SQL_TYPE = {
    Type.INT8: "TINYINT", Type.INT16: "SMALLINT", Type.INT32: "INT", Type.INT64: "BIGINT", Type.FLOAT32: "FLOAT",
    Type.FLOAT64: "DOUBLE", Type.BOOLEAN: "TINYINT", Type.STRING: "TEXT", Type.BYTES: "VARBINARY(1024)",
}  # fmt: skip
_LOGICAL_TYPE = {Date.LOGICAL_NAME: "DATE", Time.LOGICAL_NAME: "TIME(3)", MICROS.name: "DATETIME(3)"}
_MOST_TEXT = 4_000_000
"""Characters of a statement, unless the server takes fewer bytes."""
_SHARE = 2
"""How many times longer than its characters a statement may be in bytes, on average."""


class MySqlSink(MySql, SinkDialect):
    """Writes to MySQL and MariaDB."""

    KEY_TEXT = "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

    _most_bytes = 0

    def connect(self, timeout: float) -> Any:
        """Open a connection whose transactions do not stay open when its task is frozen, in MariaDB."""
        connection = super().connect(timeout)
        if "MariaDB" in connection.get_server_info():
            self.execute(connection, f"SET idle_write_transaction_timeout = {IDLE_TRANSACTION}")
        return connection

    def column_type(self, schema: Schema) -> str:
        """Return the type that Confluent's connector creates; a key must have a length."""
        if schema.name == Decimal.LOGICAL_NAME:
            return f"DECIMAL(65,{Decimal.scale(schema)})"
        kind = _LOGICAL_TYPE.get(schema.name or "") or _SQL_TYPE.get(schema.type)
        if kind is None:
            raise no_type(schema)
        return kind

    def key_type(self, schema: Schema) -> str:
        """Return VARCHAR for texts in keys, which cannot be TEXT."""
        kind = self.column_type(schema)
        return {"TEXT": "VARCHAR(256)", "VARBINARY(1024)": "VARBINARY(256)"}.get(kind, kind)

    def literal(self, schema: Schema, physical: Any) -> str:
        """Return the value as an SQL literal."""
        return str(self._literals(schema, pa.array([physical], arrow_type(schema)))[0].as_py())

    def text_literal(self, text: str) -> str:
        """Return a text in quotes, in which a backslash is doubled."""
        return text_literal(text)

    def insert(self, connection: Any, upload: Upload) -> None:
        """Insert many rows with each statement."""
        self._insert(connection, self.quote_table(upload.table), upload, "")

    def upsert(self, connection: Any, upload: Upload) -> None:
        """Insert, and update where a row has the key; the rows of a statement are processed in order."""
        names = upload.others or upload.keys[:1]
        changes = ",".join(f"{self.quote(name)}=VALUES({self.quote(name)})" for name in names)
        self._insert(connection, self.quote_table(upload.table), upload, f" ON DUPLICATE KEY UPDATE {changes}")

    def update(self, connection: Any, upload: Upload) -> None:
        """Insert the rows into a temporary table, in which the last of each key remains, then update from it."""
        if upload.others:
            changes = ",".join(f"t.{self.quote(name)}=s.{self.quote(name)}" for name in upload.others)
            table, stage = self.quote_table(upload.table), self._staged(connection, upload)
            self.execute(connection, f"UPDATE {table} t JOIN {stage} s ON {self._same(upload)} SET {changes}")  # noqa: S608

    def delete(self, connection: Any, upload: Upload) -> None:
        """Insert the keys into a temporary table, then delete their rows."""
        table, stage = self.quote_table(upload.table), self._staged(connection, upload)
        self.execute(connection, f"DELETE t FROM {table} t JOIN {stage} s ON {self._same(upload)}")

    def _same(self, upload: Upload) -> str:
        return " AND ".join(f"t.{self.quote(name)}=s.{self.quote(name)}" for name in upload.keys)

    def _staged(self, connection: Any, upload: Upload) -> str:
        names, keys = (",".join(map(self.quote, each)) for each in (upload.names, upload.keys))
        stage = f"hearth_{hashlib.sha256(repr((upload.table, names, keys)).encode()).hexdigest()[:16]}"
        select = f"SELECT {names} FROM {self.quote_table(upload.table)} LIMIT 0"  # noqa: S608 - quoted names
        self.execute(connection, f"CREATE TEMPORARY TABLE IF NOT EXISTS {stage} (PRIMARY KEY ({keys})) {select}")
        self.execute(connection, f"DELETE FROM {stage}")  # noqa: S608 - a name of ours
        changes = ",".join(f"{self.quote(name)}=VALUES({self.quote(name)})" for name in upload.names)
        self._insert(connection, stage, upload, f" ON DUPLICATE KEY UPDATE {changes}")
        return stage

    def _insert(self, connection: Any, table: str, upload: Upload, end: str) -> None:
        start = f"INSERT INTO {table} ({','.join(map(self.quote, upload.names))}) VALUES ("  # noqa: S608 - quoted names
        texts = [self._literals(schema, array) for schema, array in zip(upload.schemas, upload.arrays)]
        for rows in self._pieces(connection, pc.binary_join_element_wise(*texts, pa.scalar(",", pa.large_string()))):
            self.execute(connection, f"{start}{'),('.join(rows.to_pylist())}){end}")

    def _pieces(self, connection: Any, rows: Any) -> Iterator[Any]:
        """Yield consecutive rows whose texts are short enough for one statement."""
        if not self._most_bytes:
            ((most,),) = self.rows(connection, "SELECT @@max_allowed_packet")
            self._most_bytes = int(most)
        most = min(_MOST_TEXT, self._most_bytes // _SHARE)
        sizes = pc.binary_length(rows).to_numpy(zero_copy_only=False) + 3
        if len(rows) and int(sizes.max()) > self._most_bytes - 4096:
            raise DataError(f"a row of {sizes.max()} bytes is longer than max_allowed_packet of the server")
        ends, start = np.cumsum(sizes), 0
        while start < len(rows):
            before = ends[start - 1] if start else 0
            end = max(int(np.searchsorted(ends, before + most)), start + 1)
            yield rows.slice(start, end - start)
            start = end

    def _literals(self, schema: Schema, array: Any) -> Any:
        """Return physical values as SQL literals."""
        return pc.fill_null(self._texts(schema, array).cast(pa.large_string()), "NULL")

    def _texts(self, schema: Schema, array: Any) -> Any:
        if schema.name in (Decimal.LOGICAL_NAME, Date.LOGICAL_NAME, Time.LOGICAL_NAME):
            # a decimal, too: a number with an exponent would be a DOUBLE
            return _quoted(logical_column(schema, array).cast(pa.string()))
        if schema.name == MICROS.name:
            return _quoted(local_moments(array, self.zone).cast(pa.string()))
        if schema.type is Type.BYTES:
            return pa.array(
                [None if value is None else f"X'{value.hex()}'" for value in array.to_pylist()], pa.string()
            )
        if schema.type is Type.STRING:
            doubled = pc.replace_substring(pc.replace_substring(array, "\\", "\\\\"), "'", "''")
            return _quoted(doubled)
        if schema.type in (Type.FLOAT32, Type.FLOAT64):
            return _numbers(array)
        if schema.type is Type.BOOLEAN:
            return array.cast(pa.int8()).cast(pa.string())
        if not schema.type.is_primitive:
            raise no_type(schema)
        return array.cast(pa.string())


def _quoted(texts: Any) -> Any:
    mark = pa.scalar("'", texts.type)
    return pc.binary_join_element_wise(mark, texts, mark, pa.scalar("", texts.type))


def _numbers(array: Any) -> Any:
    if not pc.all(pc.is_finite(array)).as_py() and pc.any(pc.invert(pc.is_finite(array))).as_py():
        raise DataError("a number is NaN or infinite, which MySQL cannot hold")
    return array.cast(pa.string())
