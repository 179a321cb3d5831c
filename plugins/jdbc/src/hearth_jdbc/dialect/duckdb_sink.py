"""Writes to DuckDB: a statement reads the rows from the task's own Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import Date, Decimal, Schema, Time, Type
from hearth_api.batch import arrow_type
from hearth_jdbc.decimal_column import arrow_decimals
from hearth_jdbc.dialect.duckdb import DuckDb
from hearth_jdbc.dialect.interface import MICROS
from hearth_jdbc.dialect.sink_dialect import SinkDialect, Upload, no_type
from hearth_jdbc.logical_column import local_moments, logical_column

_SQL_TYPE = {
    Type.INT8: "TINYINT", Type.INT16: "SMALLINT", Type.INT32: "INTEGER", Type.INT64: "BIGINT", Type.FLOAT32: "FLOAT",
    Type.FLOAT64: "DOUBLE", Type.BOOLEAN: "BOOLEAN", Type.STRING: "VARCHAR", Type.BYTES: "BLOB",
}  # fmt: skip
_LOGICAL_TYPE = {Date.LOGICAL_NAME: "DATE", Time.LOGICAL_NAME: "TIME", MICROS.name: "TIMESTAMP"}
_ROWS, _NUMBER = "hearth_rows", "hearth_row"


class DuckDbSink(DuckDb, SinkDialect):
    """Writes to DuckDB."""

    def column_type(self, schema: Schema) -> str:
        """Return the type of DuckDB for a schema."""
        if schema.type is Type.ARRAY and schema.value_schema is not None:
            return f"{self.column_type(schema.value_schema)}[]"
        if schema.name == Decimal.LOGICAL_NAME:
            return f"DECIMAL(38,{Decimal.scale(schema)})"
        kind = _LOGICAL_TYPE.get(schema.name or "") or _SQL_TYPE.get(schema.type)
        if kind is None:
            raise no_type(schema)
        return kind

    def literal(self, schema: Schema, physical: Any) -> str:
        """Return the value as a text in quotes, cast to its type."""
        (value,) = self._array(schema, pa.array([physical], arrow_type(schema))).to_pylist()
        text = "".join(f"\\x{byte:02x}" for byte in value) if isinstance(value, bytes) else str(value)
        return f"{self.text_literal(text)}::{self.column_type(schema)}"

    def insert(self, connection: Any, upload: Upload) -> None:
        """Insert the rows."""
        names = ",".join(map(self.quote, upload.names))
        with self._rows(connection, upload):
            start = f"INSERT INTO {self.quote_table(upload.table)} ({names})"
            self.execute(connection, f"{start} SELECT {names} FROM {_ROWS}")  # noqa: S608

    def upsert(self, connection: Any, upload: Upload) -> None:
        """Insert the last row of each key, and update where a row has the key."""
        names, keys = (",".join(map(self.quote, each)) for each in (upload.names, upload.keys))
        changes = ",".join(f"{self.quote(name)}=EXCLUDED.{self.quote(name)}" for name in upload.others)
        action = f"UPDATE SET {changes}" if changes else "NOTHING"
        with self._rows(connection, upload):
            start = f"INSERT INTO {self.quote_table(upload.table)} ({names}) {self._latest(upload)}"
            self.execute(connection, f"{start} ON CONFLICT ({keys}) DO {action}")

    def update(self, connection: Any, upload: Upload) -> None:
        """Update from the last row of each key."""
        if upload.others:
            changes = ",".join(f"{self.quote(name)}=s.{self.quote(name)}" for name in upload.others)
            with self._rows(connection, upload):
                start = f"UPDATE {self.quote_table(upload.table)} t SET {changes}"  # noqa: S608 - quoted names
                self.execute(connection, f"{start} FROM ({self._latest(upload)}) s WHERE {self._same(upload)}")

    def delete(self, connection: Any, upload: Upload) -> None:
        """Delete the rows of the keys."""
        with self._rows(connection, upload):
            start = f"DELETE FROM {self.quote_table(upload.table)} t"  # noqa: S608 - quoted names
            self.execute(connection, f"{start} USING ({self._latest(upload)}) s WHERE {self._same(upload)}")

    def _same(self, upload: Upload) -> str:
        return " AND ".join(f"t.{self.quote(name)}=s.{self.quote(name)}" for name in upload.keys)

    def _latest(self, upload: Upload) -> str:
        """Return the query for the last row of each key, which is all rows where no key comes twice."""
        if _is_unique(upload):
            return f"SELECT {','.join(map(self.quote, upload.names))} FROM {_ROWS}"  # noqa: S608 - quoted names
        names, keys = (",".join(map(self.quote, each)) for each in (upload.names, upload.keys))
        order = f"row_number() OVER (PARTITION BY {keys} ORDER BY {_NUMBER} DESC)"
        return f"SELECT {names} FROM {_ROWS} QUALIFY {order} = 1"  # noqa: S608 - quoted names

    @contextmanager
    def _rows(self, connection: Any, upload: Upload) -> Iterator[None]:
        """Let statements see the rows as a table, which an error ends with the transaction."""
        arrays = [self._array(schema, array) for schema, array in zip(upload.schemas, upload.arrays)]
        numbers = pa.array(np.arange(len(arrays[0])))
        connection.register(_ROWS, pa.Table.from_arrays([*arrays, numbers], names=[*upload.names, _NUMBER]))
        yield
        connection.unregister(_ROWS)

    def _array(self, schema: Schema, array: Any) -> Any:
        """Return physical values as Arrow's type of their meaning."""
        if schema.name == Decimal.LOGICAL_NAME:
            return arrow_decimals(schema, array)
        return local_moments(array, self.zone) if schema.name == MICROS.name else logical_column(schema, array)


def _is_unique(upload: Upload) -> bool:
    keys = pa.table([upload.arrays[upload.names.index(name)] for name in upload.keys], names=list(upload.keys))
    return bool(keys.group_by(list(upload.keys)).aggregate([]).num_rows == keys.num_rows)
