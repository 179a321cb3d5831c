"""Reads MySQL and MariaDB: rows come as packets of a query whose result the client does not hold."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pymysql
from pymysql.constants import ER, FIELD_TYPE

from hearth_api import ConnectError
from hearth_jdbc.dialect.interface import Column, TableId
from hearth_jdbc.dialect.mysql import MySql, text_literal
from hearth_jdbc.dialect.mysql_column import column_of, to_array
from hearth_jdbc.dialect.mysql_packet import split_columns
from hearth_jdbc.dialect.source_dialect import Rows, SourceDialect

_TABLES = """
    SELECT table_schema, table_name FROM information_schema.tables
    WHERE table_type IN ({kinds}) AND table_schema {which}
        AND table_schema NOT IN ('mysql', 'performance_schema', 'sys')
    ORDER BY 1, 2"""
_KINDS = {"TABLE": ["BASE TABLE", "SYSTEM VERSIONED"], "VIEW": ["VIEW"]}
_MARK = "/* Hearth reads */ "
"""Begins the source's own queries, which draw no number and no time."""
_OPEN = """
    SELECT trx_mysql_thread_id = CONNECTION_ID() AND trx_query LIKE '%{nonce}%', trx_mysql_thread_id,
        trx_id + 0, trx_state, trx_started, trx_id + 0 BETWEEN 1 AND 281474976710655
    FROM information_schema.innodb_trx"""
_STATEMENTS = """
    SELECT id, {number}, user, time, info FROM information_schema.processlist
    WHERE command IN ('Query', 'Execute') AND id <> CONNECTION_ID() AND (info IS NULL OR info NOT LIKE '{mark}%')"""
_STALE = 0.11
"""Seconds after which the server makes its list of transactions anew."""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_ZONED = "zoned"
"""The form of timestamps that are instants; usually they are local times."""
_nonces = itertools.count(time.time_ns())


class MySqlSource(MySql, SourceDialect):
    """Reads MySQL and MariaDB."""

    NAMESPACE_KEY = "catalog.pattern"

    _transactions: Mapping[str, str] = {}
    _listed_at = -1.0
    _next_look = 0.0

    def tables(self, connection: Any, types: Collection[str], namespace: str | None) -> list[TableId]:
        """Return the tables of the URL's database, or of those whose names match a pattern."""
        kinds = [each for kind in types for each in _KINDS.get(kind.strip().upper(), ())]
        which = f"LIKE {text_literal(namespace)}" if namespace else "= COALESCE(DATABASE(), table_schema)"
        sql = _TABLES.format(kinds=",".join(map(text_literal, kinds)) or "''", which=which)
        return [TableId(*names) for names in self.rows(connection, sql)]

    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Run a query; the next statement must wait for its end."""
        connection.query(f"{_MARK}{sql}", unbuffered=True)
        return _MySqlRows(self, connection)

    def now(self, connection: Any) -> int:
        """Return the time of the server."""
        ((micros,),) = self.rows(connection, "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)")
        return int(micros)

    def timestamp_form(self, connection: Any, source: str, name: str) -> str:
        """Return whether a column is of type TIMESTAMP, whose values are instants."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {self.quote(name)} FROM {source} LIMIT 0")  # noqa: S608 - quoted names
            return _ZONED if cursor.description[0][1] == FIELD_TYPE.TIMESTAMP else "local"

    def timestamp_sql(self, name: str, form: str) -> str:
        """Return the column."""
        return self.quote(name)

    def timestamp_literal(self, micros: int, form: str) -> str:
        """Return the time in UTC, or in the zone of the database for local times."""
        moment = _EPOCH + dt.timedelta(microseconds=micros)
        local = moment if form == _ZONED else moment.astimezone(ZoneInfo(self.zone))
        return f"TIMESTAMP'{local.replace(tzinfo=None).isoformat(' ', 'microseconds')}'"

    def isolate(self, connection: Any, mode: str) -> None:
        """Set the isolation of the session."""
        if mode != "default":
            self.execute(connection, f"SET SESSION TRANSACTION ISOLATION LEVEL {mode.replace('_', ' ').upper()}")

    def running_statements(self, connection: Any) -> Mapping[str, str]:
        """Return the statements of other sessions.

        A number is drawn, and the time read, a moment before InnoDB lists the transaction.
        """
        number = "query_id" if "MariaDB" in connection.get_server_info() else "UNIX_TIMESTAMP() - time"
        sql = _STATEMENTS.format(number=number, mark=_MARK)
        return {
            f"statement {session}.{number}": f"of session {session} ({user}) since {seconds} s: {text}"
            for session, number, user, seconds, text in self.rows(connection, sql)
        }

    def open_transactions(self, connection: Any, *, writers_only: bool, since: float) -> Mapping[str, str] | None:
        """Return the transactions that have written or locked something, of any session and of none.

        Both numbers and times are those of statements, so that transactions which only read never count. One list
        serves all tables that ask for a time before it.
        """
        now = time.monotonic()
        if self._listed_at <= since:
            if now < self._next_look:
                return None
            found = self._listed(connection)
            self._next_look = time.monotonic() + _STALE * random.uniform(1, 2)
            if found is None:
                return None
            self._transactions, self._listed_at = found, now
        return self._transactions

    def _listed(self, connection: Any) -> Mapping[str, str] | None:
        """Return InnoDB's transactions at a time after the call, None if the server answers with an old list.

        The server keeps its list until nobody has read it for 100 ms. So this session opens a transaction, whose row
        must show the very query that reads the list.
        """
        self.execute(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
        try:
            rows = self.rows(connection, _OPEN.format(nonce=next(_nonces)))
        except pymysql.OperationalError as error:
            if error.args[0] != ER.SPECIFIC_ACCESS_DENIED_ERROR:
                raise
            hint = "GRANT PROCESS ON *.* TO the user, or set open.transactions=pass, which misses rows of late commits"
            raise ConnectError("open transactions are shown to users with the PROCESS privilege", hint=hint) from error
        finally:
            self.roll_back(connection)
        if not any(is_own for is_own, *_ in rows):
            return None
        return {
            f"transaction {number}": f"of session {session} ({state.lower()}) since {start} UTC"
            for is_own, session, number, state, start, is_writer in rows
            if is_writer and not is_own
        }


class _MySqlRows(Rows):
    """Rows of a running query."""

    def __init__(self, dialect: MySqlSource, connection: Any) -> None:
        self._dialect = dialect
        self._connection = connection
        self._result = connection._result
        self.columns: Sequence[Column] = [column_of(field) for field in self._result.fields]

    def fetch(self, count: int) -> list[Any] | None:
        packets: list[bytes] = []
        while self._result.unbuffered_active and len(packets) < count:
            packet = self._connection._read_packet()
            if packet.is_eof_packet():
                self._result.unbuffered_active = False
            else:
                packets.append(packet.get_all_data())
        if not packets:
            return None
        cells = split_columns(packets, len(self.columns))
        return [to_array(column, each, self._dialect.zone) for column, each in zip(self.columns, cells)]

    def close(self) -> None:
        if self._result.unbuffered_active and self._connection.open:
            self._dialect.interrupt(self._connection)
            while self._result.unbuffered_active:  # an error ends it as well
                self.fetch(1000)
