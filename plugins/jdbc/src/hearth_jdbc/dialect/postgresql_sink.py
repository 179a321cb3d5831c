"""Writes to PostgreSQL: rows go through COPY, into the table or into a temporary one."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from typing import Any

from hearth_api import Date, Decimal, Schema, Time, Type
from hearth_api.batch import arrow as pa
from hearth_api.batch import arrow_type, column_to_values
from hearth_jdbc.dialect.interface import IDLE_TRANSACTION, MICROS, TableId
from hearth_jdbc.dialect.postgresql import PostgreSql
from hearth_jdbc.dialect.sink_dialect import SinkDialect, Upload, no_type

_SQL_TYPE = {
    Type.INT8: "SMALLINT", Type.INT16: "SMALLINT", Type.INT32: "INT", Type.INT64: "BIGINT", Type.FLOAT32: "REAL",
    Type.FLOAT64: "DOUBLE PRECISION", Type.BOOLEAN: "BOOLEAN", Type.STRING: "TEXT", Type.BYTES: "BYTEA",
}  # fmt: skip
_LOGICAL_TYPE = {
    Decimal.LOGICAL_NAME: "DECIMAL", Date.LOGICAL_NAME: "DATE", Time.LOGICAL_NAME: "TIME", MICROS.name: "TIMESTAMP",
}  # fmt: skip


class PostgreSqlSink(PostgreSql, SinkDialect):
    """Writes to PostgreSQL."""

    _next_row = 1

    def connect(self, timeout: float) -> Any:
        """Open a connection whose transactions do not stay open when its task is frozen."""
        connection = super().connect(timeout)
        connection.execute(f"SET idle_in_transaction_session_timeout = '{IDLE_TRANSACTION}s'")
        return connection

    def column_type(self, schema: Schema) -> str:
        """Return the type that Confluent's connector creates."""
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            return f"{self.column_type(schema.value_schema)}[]"
        kind = _LOGICAL_TYPE.get(schema.name or "") or _SQL_TYPE.get(schema.type)
        if kind is None:
            raise no_type(schema)
        return kind

    def literal(self, schema: Schema, physical: Any) -> str:
        """Return the text that COPY would take, in quotes."""
        text = self._texts(schema, pa.array([physical], arrow_type(schema))).cast(pa.string())[0].as_py()
        return "'{}'".format(text.replace("'", "''"))

    def add_columns_sql(self, table: TableId, columns: Sequence[Any]) -> list[str]:
        """Return one statement for all columns."""
        parts = [f"ADD {self._column_sql(column)}" for column in columns]
        return [f"ALTER TABLE {self.quote_table(table)} {', '.join(parts)}"]

    def insert(self, connection: Any, upload: Upload) -> None:
        """Copy the rows into the table."""
        self._copy(connection, self.quote_table(upload.table), list(map(self.quote, upload.names)), self._csv(upload))

    def upsert(self, connection: Any, upload: Upload) -> None:
        """Copy the rows into a temporary table, then insert the last of each key, in the order of the keys."""
        names, keys = ",".join(map(self.quote, upload.names)), ",".join(map(self.quote, upload.keys))
        changes = ",".join(f"{self.quote(name)}=EXCLUDED.{self.quote(name)}" for name in upload.others)
        action = f"UPDATE SET {changes}" if changes else "NOTHING"
        connection.execute(
            f"INSERT INTO {self.quote_table(upload.table)} ({names}) SELECT {names} FROM {self._staged(connection, upload)}"  # noqa: S608, E501
            f" ON CONFLICT ({keys}) DO {action}"
        )

    def update(self, connection: Any, upload: Upload) -> None:
        """Copy the rows into a temporary table, then update from the last of each key."""
        if upload.others:
            changes = ",".join(f"{self.quote(name)}=s.{self.quote(name)}" for name in upload.others)
            staged = self._staged(connection, upload)
            table = self.quote_table(upload.table)
            connection.execute(f"UPDATE {table} t SET {changes} FROM {staged} WHERE {self._same(upload)}")  # noqa: S608

    def delete(self, connection: Any, upload: Upload) -> None:
        """Copy the keys into a temporary table, then delete their rows."""
        staged, table = self._staged(connection, upload), self.quote_table(upload.table)
        connection.execute(f"DELETE FROM {table} t USING {staged} WHERE {self._same(upload)}")  # noqa: S608

    def _same(self, upload: Upload) -> str:
        return " AND ".join(f"t.{self.quote(name)}=s.{self.quote(name)}" for name in upload.keys)

    def _staged(self, connection: Any, upload: Upload) -> str:
        """Copy rows into a temporary table of this session, and return the last of each key as SQL.

        The table is empty after the transaction; its row numbers tell uploads of one transaction apart.
        """
        columns = list(map(self.quote, upload.names))
        facts = repr((upload.table, tuple(upload.names))).encode()
        stage = f"pg_temp.hearth_{hashlib.sha256(facts).hexdigest()[:16]}"
        names, keys = ",".join(columns), ",".join(map(self.quote, upload.keys))
        connection.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {stage.removeprefix('pg_temp.')} ON COMMIT DELETE ROWS AS"  # noqa: S608
            f" SELECT {names}, 0::bigint AS hearth_row FROM {self.quote_table(upload.table)} LIMIT 0"
        )
        count = len(upload.arrays[0])
        first, self._next_row = self._next_row, self._next_row + count
        rows = self._csv(upload, pa.array(range(first, first + count), pa.int64()))
        self._copy(connection, stage, [*columns, "hearth_row"], rows)
        return (
            f"(SELECT DISTINCT ON ({keys}) {names} FROM {stage} WHERE hearth_row >= {first}"  # noqa: S608
            f" ORDER BY {keys}, hearth_row DESC) s"
        )

    def _copy(self, connection: Any, table: str, columns: Sequence[str], rows: bytes) -> None:
        with connection.cursor().copy(f"COPY {table} ({','.join(columns)}) FROM STDIN (FORMAT csv)") as copy:
            copy.write(rows)

    def _csv(self, upload: Upload, *more: Any) -> bytes:
        """Return the rows as CSV, in which an empty text has quotes and null has none."""
        from pyarrow.csv import WriteOptions, write_csv

        arrays = [*map(self._texts, upload.schemas, upload.arrays), *more]
        table = pa.Table.from_arrays(arrays, names=[str(place) for place in range(len(arrays))])
        target = io.BytesIO()
        write_csv(table, target, WriteOptions(include_header=False, quoting_style="all_valid"))
        return target.getvalue()

    def _texts(self, schema: Schema, array: Any) -> Any:
        """Return physical values in a form whose CSV PostgreSQL reads."""
        if schema.name in (Decimal.LOGICAL_NAME, Date.LOGICAL_NAME, Time.LOGICAL_NAME):
            from hearth_jdbc.logical_column import logical_column

            return logical_column(schema, array)
        if schema.name == MICROS.name:
            return self._moments(array)
        if schema.type is Type.BYTES:
            return _mapped(array.to_pylist(), lambda value: f"\\x{value.hex()}")
        if schema.type is Type.ARRAY:
            return _mapped(column_to_values(schema, array), _array_text)
        return array

    def _moments(self, micros: Any) -> Any:
        moments = micros.cast(pa.timestamp("us", "UTC"))
        if self.zone == "UTC":
            return moments.cast(pa.timestamp("us"))
        return pa.compute.strftime(moments.cast(pa.timestamp("us", self.zone)), "%Y-%m-%d %H:%M:%S%z")


def _mapped(values: Sequence[Any], write: Any) -> Any:
    return pa.array([None if value is None else write(value) for value in values], pa.string())


def _array_text(values: Sequence[Any]) -> str:
    return "{" + ",".join(_element(value) for value in values) + "}"


def _element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, (list, tuple)):
        return _array_text(value)
    if isinstance(value, (bytes, bytearray)):
        value = f"\\x{bytes(value).hex()}"
    return '"{}"'.format(str(value).replace("\\", "\\\\").replace('"', '\\"'))
