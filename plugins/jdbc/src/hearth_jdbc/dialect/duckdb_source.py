"""Reads DuckDB, whose results are Arrow's."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from hearth_api.batch import arrow as pa
from hearth_jdbc.dialect.duckdb import DuckDb, nested_column
from hearth_jdbc.dialect.interface import Column, SqlType, TableId, mismatch
from hearth_jdbc.dialect.source_dialect import Rows, SourceDialect, utc_micros
from hearth_jdbc.nested_column import with_values

_TABLES = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_catalog = current_database() AND table_type IN ({kinds}) AND table_schema LIKE '{pattern}'
    ORDER BY 1, 2"""
_KINDS = {"TABLE": "'BASE TABLE'", "VIEW": "'VIEW'"}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_ZONED, _LOCAL = "zoned", "local"
"""Forms of timestamps: instants, and local times."""


class DuckDbSource(DuckDb, SourceDialect):
    """Reads DuckDB. No other process writes while this one has the file open, so no row commits late."""

    IS_CONCURRENT = False

    def tables(self, connection: Any, types: Collection[str], namespace: str | None) -> list[TableId]:
        """Return the tables and views of the file."""
        kinds = ",".join(_KINDS[kind.strip().upper()] for kind in types if kind.strip().upper() in _KINDS) or "''"
        pattern = (namespace or "%").replace("'", "''")
        return [TableId(*names) for names in self.rows(connection, _TABLES.format(kinds=kinds, pattern=pattern))]

    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Run a query; values of types that Kafka Connect lacks come as texts."""
        columns = self.described(connection, sql)
        if self.nests and any(column.type is SqlType.OTHER for column in columns):
            kinds = connection.sql(sql).types
            columns = [nested_column(column, kind) for column, kind in zip(columns, kinds)]
        others = [(self.quote(each.name), _readable(each)) for each in columns if _has_other(each)]
        if others:
            texts = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in others)
            sql = f"SELECT * REPLACE ({texts}) FROM ({sql})"  # noqa: S608 - quoted names
        return _DuckDbRows(connection, sql, columns, self.zone)

    def now(self, connection: Any) -> int:
        """Return the time of this machine, which runs the database."""
        return time.time_ns() // 1000

    def timestamp_form(self, connection: Any, source: str, name: str) -> str:
        """Return whether the timestamps of a column are instants or local times."""
        (column,) = self.described(connection, f"SELECT {self.quote(name)} FROM {source}")  # noqa: S608 - quoted names
        return _ZONED if column.is_zoned else _LOCAL

    def timestamp_sql(self, name: str, form: str) -> str:
        """Return the column."""
        return self.quote(name)

    def timestamp_literal(self, micros: int, form: str) -> str:
        """Return the time with its offset, or the local time."""
        moment = (_EPOCH + dt.timedelta(microseconds=micros)).astimezone(ZoneInfo(self.zone))
        if form == _ZONED:
            return f"TIMESTAMPTZ '{moment.isoformat(' ')}'"
        return f"TIMESTAMP '{moment.replace(tzinfo=None).isoformat(' ')}'"

    def isolate(self, connection: Any, mode: str) -> None:
        """Do nothing: every transaction of DuckDB reads a snapshot."""


class _DuckDbRows(Rows):
    """Rows of a running query, fetched as Arrow's batches."""

    def __init__(self, connection: Any, sql: str, columns: Sequence[Column], zone: str) -> None:
        self.columns = columns
        self._relation = connection.sql(sql)
        self._zone = zone
        self._reader: Any = None

    def fetch(self, count: int) -> list[Any] | None:
        if self._reader is None:
            self._reader = self._relation.to_arrow_reader(count)
            self._rest: Any = None
        batch = self._rest
        while batch is None or not batch.num_rows:
            try:
                batch = self._reader.read_next_batch()
            except StopIteration:
                return None
        batch, self._rest = batch.slice(0, count), batch.slice(count)
        return [_array(column, array, self._zone) for column, array in zip(self.columns, batch.columns)]

    def close(self) -> None:
        self._relation = self._reader = self._rest = None


def _has_other(column: Column) -> bool:
    return column.type is SqlType.OTHER or any(map(_has_other, column.parts))


def _readable(column: Column) -> str:
    """Return the type of a column with texts in the place of types that Kafka Connect lacks."""
    parts = list(map(_readable, column.parts))
    if column.type is SqlType.ARRAY:
        return f"{parts[0]}[]"
    if column.type is SqlType.MAP:
        return f"MAP({', '.join(parts)})"
    if column.type is SqlType.STRUCT:
        names = ['"{}"'.format(part.name.replace('"', '""')) for part in column.parts]
        return f"STRUCT({', '.join(map(' '.join, zip(names, parts)))})"
    return "VARCHAR" if column.type is SqlType.OTHER else column.type_name


def _array(column: Column, array: Any, zone: str) -> Any:
    if column.parts:
        return with_values(array, lambda place, part: _array(column.parts[place], part, zone))
    convert = _ARRAYS.get(column.type)
    try:
        return array if convert is None else convert(column, array, zone)
    except (ValueError, pa.ArrowException) as error:
        raise mismatch(column, error) from error


def _cast(kind: Callable[[], Any]) -> Callable[[Column, Any, str], Any]:
    return lambda column, array, zone: array.cast(kind())


def _times(column: Column, array: Any, zone: str) -> Any:
    return array.cast(pa.time64("us")).cast(pa.int64())


def _timestamps(column: Column, array: Any, zone: str) -> Any:
    if column.is_zoned:
        return array.cast(pa.int64())
    return utc_micros(array.cast(pa.timestamp("us"), safe=False), zone)


_ARRAYS: dict[SqlType, Callable[[Column, Any, str], Any]] = {
    **dict.fromkeys((SqlType.TINYINT, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT), _cast(pa.int64)),
    **dict.fromkeys((SqlType.REAL, SqlType.DOUBLE), _cast(pa.float64)),
    SqlType.VARCHAR: _cast(pa.string),
    SqlType.VARBINARY: _cast(pa.binary), SqlType.DATE: _cast(pa.int32), SqlType.TIME: _times,
    SqlType.TIMESTAMP: _timestamps,
}  # fmt: skip
