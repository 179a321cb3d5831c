"""Reads SQLite: a value may be of another type than its column was declared with."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo

from hearth_api.batch import arrow as pa
from hearth_jdbc.dialect.interface import Column, SqlType, TableId, mismatch
from hearth_jdbc.dialect.source_dialect import CursorRows, Rows, SourceDialect, utc_micros
from hearth_jdbc.dialect.sqlite import Sqlite

_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_DAY_MILLIS = 86_400_000
_TEXT = "text"
"""The form of timestamps that are stored as texts; usually they are milliseconds."""


class SqliteSource(Sqlite, SourceDialect):
    """Reads SQLite."""

    IS_CONCURRENT = False

    def tables(self, connection: Any, types: Collection[str], namespace: str | None) -> list[TableId]:
        """Return the tables and views of the main database, which has no schema."""
        kinds = [kind.lower() for kind in types if kind.upper() in ("TABLE", "VIEW")]
        marks = ",".join("?" * len(kinds))
        sql = f"SELECT name FROM sqlite_master WHERE type IN ({marks}) AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"  # noqa: S608
        return [TableId(None, name) for (name,) in connection.execute(f"{sql} ORDER BY name", kinds)]

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


class _SqliteRows(CursorRows):
    """Rows of a cursor; SQLite needs no transaction to read them."""

    def _arrays(self, cells: Sequence[Sequence[Any]]) -> list[Any]:
        self.columns = [_known(column, values) for column, values in zip(self.columns, cells)]
        return [self._array(column, values) for column, values in zip(self.columns, cells)]

    def _array(self, column: Column, values: Sequence[Any]) -> Any:
        try:
            return _ARRAYS[column.type](values, self._zone)
        except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
            raise mismatch(column, error) from error


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
    with suppress(pa.ArrowException):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else _as_int(value) for value in values], pa.int64())


def _as_int(value: Any) -> int:
    number = int(value)
    if number != float(value) and str(number) != str(value):
        raise ValueError(f"{value!r} is no whole number")
    return number


def _fractions(values: Sequence[Any], zone: str) -> Any:
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _texts(values: Sequence[Any], zone: str) -> Any:
    with suppress(pa.ArrowException):
        return pa.array(values, pa.string())
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
    with suppress(pa.ArrowException):  # texts without offset
        return utc_micros(pa.array(values, pa.string()).cast(pa.timestamp("us")), zone)
    place = ZoneInfo(zone)
    return pa.array([None if value is None else _micros(value, place) for value in values], pa.int64())


def _micros(value: Any, zone: ZoneInfo) -> int:
    if not isinstance(value, str):
        return int(value * 1000)
    text = f"{value[:-1]}+00:00" if value.endswith("Z") else value
    moment = dt.datetime.fromisoformat(_with_whole_fraction(text))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone, fold=1)
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
