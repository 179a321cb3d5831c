"""Reads PostgreSQL: rows come through a cursor of the server, in a transaction that reads."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from psycopg.types.multirange import MultirangeInfo
from psycopg.types.range import RangeInfo
from psycopg.types.string import TextLoader

from hearth_jdbc.dialect.interface import Column, SqlType, TableId
from hearth_jdbc.dialect.postgresql import COLUMNS, PostgreSql, column_of_row
from hearth_jdbc.dialect.postgresql_column import AS_TEXT, array_of, column_of, to_array
from hearth_jdbc.dialect.postgresql_signal import TableSignal
from hearth_jdbc.dialect.postgresql_snapshot import SharedSnapshot
from hearth_jdbc.dialect.source_dialect import CursorRows, Rows, SourceDialect
from hearth_jdbc.table_part import TablePart

_TABLES = """
    SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = ANY (%s) AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
        AND (%s::text IS NULL OR n.nspname LIKE %s)
    ORDER BY 1, 2"""
_KINDS = {"TABLE": "r", "PARTITIONED TABLE": "p", "VIEW": "v", "MATERIALIZED VIEW": "m", "FOREIGN TABLE": "f"}
_MARK = "SELECT pg_advisory_xact_lock_shared(1749905012, 1785012835)"
"""Marks the source's own transactions, which only read, for `_OPEN`."""
_OPEN = """
    SELECT l.virtualtransaction, l.pid, a.application_name, a.state, a.xact_start
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'virtualxid' AND l.granted AND l.pid <> pg_backend_pid() AND a.usesysid IS NOT NULL
        AND a.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND NOT EXISTS (SELECT 1 FROM pg_locks r WHERE r.locktype = 'advisory' AND r.objsubid = 2
            AND r.virtualtransaction = l.virtualtransaction AND r.classid = 1749905012 AND r.objid = 1785012835)"""
_WRITES = """ AND l.virtualtransaction IN (
        SELECT w.virtualtransaction FROM pg_locks w WHERE w.granted AND (w.locktype = 'transactionid'
            OR (w.locktype = 'relation' AND w.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock',
                'AccessExclusiveLock'))))"""
_PREPARED = "SELECT gid, prepared FROM pg_prepared_xacts WHERE database = current_database()"
_TYPE = """
    SELECT t.typname, t.typtype, t.typcategory, e.typname, e.oid, e.typtype, e.typcategory
    FROM pg_type t LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid WHERE t.oid = %s"""
_QUANTILES = """
    SELECT unnest(histogram_bounds::text::text[]) FROM pg_stats
    WHERE schemaname = %s AND tablename = %s AND attname = %s"""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

_log = logging.getLogger(__name__)


class PostgreSqlSource(PostgreSql, SourceDialect):
    """Reads PostgreSQL."""

    _isolation = ""
    _snapshot: SharedSnapshot | None = None

    def connect(self, timeout: float) -> Any:
        """Open a connection that leaves values as the server's texts where Arrow reads them, or nobody does."""
        connection = super().connect(timeout)
        kinds = [info.array_oid for info in connection.adapters.types if info.array_oid and not self.nests]
        kinds += [info.oid for info in connection.adapters.types if isinstance(info, (RangeInfo, MultirangeInfo))]
        for kind in (*AS_TEXT, *kinds):
            connection.adapters.register_loader(kind, TextLoader)
        return connection

    def tables(self, connection: Any, types: Collection[str], namespace: str | None) -> list[TableId]:
        """Return the tables with their schemas."""
        kinds = [_KINDS[kind.upper()] for kind in types if kind.upper() in _KINDS]
        pattern = namespace or None
        return [TableId(*names) for names in connection.execute(_TABLES, (kinds, pattern, pattern)).fetchall()]

    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Open a cursor of the server in a transaction that reads."""
        connection.execute(f"BEGIN{self._isolation} READ ONLY; {_MARK}")
        return self._opened(connection, sql, lambda: None)

    def query_part(self, connection: Any, sql: str, table: TableId, part: TablePart) -> Rows | None:
        """Run the query of a part in the snapshot that all parts have."""
        if self._snapshot is None:
            self._snapshot = SharedSnapshot(part, _MARK)
        return self._opened(connection, sql, self._snapshot.end) if self._snapshot.is_open(connection) else None

    def _opened(self, connection: Any, sql: str, at_end: Callable[[], None]) -> Rows:
        cursor = connection.cursor(name="hearth_rows")
        try:
            cursor.execute(sql)
            return _PostgreSqlRows(connection, cursor, self._result(connection, cursor), self.zone, at_end)
        except BaseException:
            self.roll_back(connection)
            cursor.close()
            raise

    def split_points(self, connection: Any, table: TableId, column: Column, count: int) -> list[str]:
        """Return values between which the statistics of the server see equally many rows, of a key of any type.

        A table without statistics has those of whole numbers.
        """
        names = (table.schema, table.name, column.name)
        bounds = [bound for (bound,) in connection.execute(_QUANTILES, names)]
        if not bounds:
            return super().split_points(connection, table, column, count)
        points = dict.fromkeys(bounds[len(bounds) * place // count] for place in range(1, count))
        return ["'{}'".format(point.replace("'", "''")) for point in points]

    def _result(self, connection: Any, cursor: Any) -> list[Column]:
        """Return the columns of a result: those of tables as the tables describe them, the others by their type."""
        result, description = cursor.pgresult, cursor.description
        places = [(result.ftable(place), result.ftablecol(place)) for place in range(len(description))]
        tables = [table for table in dict.fromkeys(table for table, _ in places) if table]
        rows = connection.execute(f"{COLUMNS} a.attrelid = ANY (%s::oid[])", (tables,)).fetchall() if tables else []
        known = {(row[0], row[1]): row for row in rows}
        return [
            self._computed(connection, each) if at not in known else self._stored(_renamed(known[at], each.name))
            for at, each in zip(places, description)
        ]

    def _stored(self, row: Sequence[Any]) -> Column:
        column = column_of_row(row)
        modifier, (dimensions, *element) = row[9], row[12:]
        return self._nested(column, modifier, dimensions, *element)

    def _computed(self, connection: Any, column: Any) -> Column:
        name, kind, category, *element = connection.execute(_TYPE, (column.type_code,)).fetchone()
        modifier = -1
        if column.precision is not None:
            modifier = (column.precision << 16 | (column.scale or 0) & 0x7FF) + 4
        found = column_of(column.name, name, column.type_code, modifier, kind, category)
        return self._nested(found, modifier, 1, *element)

    def _nested(self, column: Column, modifier: int, dimensions: int, name: str | None, *element: Any) -> Column:
        """Return an array as an ARRAY where columns nest; the modifier of its type is that of its elements."""
        if not self.nests or name is None or column.type is not SqlType.OTHER:
            return column
        oid, kind, category = element
        return array_of(column, column_of(name, name, oid, modifier, kind, category), dimensions)

    def now(self, connection: Any) -> int:
        """Return the time of the server."""
        sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        return int(connection.execute(sql).fetchone()[0])

    def timestamp_form(self, connection: Any, source: str, name: str) -> str:
        """Return the usual form: a timestamp is of a type of its own."""
        return ""

    def timestamp_sql(self, name: str, form: str) -> str:
        """Return the column."""
        return self.quote(name)

    def timestamp_literal(self, micros: int, form: str) -> str:
        """Return the local time with its offset, which PostgreSQL ignores for a timestamp without time zone."""
        moment = (_EPOCH + dt.timedelta(microseconds=micros)).astimezone(ZoneInfo(self.zone))
        return f"'{moment.isoformat(' ')}'"

    def open_transactions(self, connection: Any, *, writers_only: bool, since: float) -> Mapping[str, str]:
        """Return transactions of other sessions, and prepared ones.

        One that has drawn a number of a sequence holds a lock on the sequence until it ends, so it is a writer.
        """
        found = {
            str(key): f"of process {pid} ({name or 'no application name'}, {state or 'state hidden'}) since {since}"
            for key, pid, name, state, since in connection.execute(_OPEN + (_WRITES if writers_only else ""))
        }
        prepared = connection.execute(_PREPARED).fetchone()
        if prepared is not None:
            found[self.PREPARED] = f"the prepared transaction {prepared[0]!r} since {prepared[1]}"
        return found

    def warn_of_gaps(self, connection: Any, table: TableId, name: str) -> None:
        """Log a warning if each session takes several numbers of the sequence in advance."""
        sql = "SELECT seqcache FROM pg_sequence WHERE seqrelid = pg_get_serial_sequence(%s, %s)::regclass"
        found = connection.execute(sql, (SourceDialect.quote_table(self, table), name)).fetchone()
        if found is not None and found[0] > 1:
            _log.warning(
                "the sequence of %s.%s gives each session %d numbers in advance: a row with a lower number may come"
                " later and is then not read; use mode=timestamp+incrementing, or a sequence with CACHE 1",
                table, name, found[0],
            )  # fmt: skip

    def signal(self) -> TableSignal:
        """Return what waits for notifications of triggers."""
        return TableSignal(self)

    def isolate(self, connection: Any, mode: str) -> None:
        """Remember the isolation for the transactions that read."""
        self._isolation = "" if mode == "default" else f" ISOLATION LEVEL {mode.replace('_', ' ').upper()}"


def _renamed(row: Sequence[Any], name: str) -> Sequence[Any]:
    return *row[:2], name, *row[3:]


class _PostgreSqlRows(CursorRows):
    """Rows of a cursor of the server."""

    def __init__(
        self, connection: Any, cursor: Any, columns: Sequence[Column], zone: str, at_end: Callable[[], None]
    ) -> None:
        super().__init__(cursor, columns, zone)
        self._connection = connection
        self._at_end = at_end

    def fetch(self, count: int) -> list[Any] | None:
        arrays = super().fetch(count)
        if arrays is None:
            self._at_end()
        return arrays

    def close(self) -> None:
        try:
            if not self._connection.closed:
                self._connection.execute("COMMIT")  # what the session shows of itself stays
        finally:
            super().close()

    def _arrays(self, cells: Sequence[Sequence[Any]]) -> list[Any]:
        return [to_array(column, each, self._zone) for column, each in zip(self.columns, cells)]
