"""PostgreSQL, by psycopg: rows come through a cursor of the server, and go through COPY."""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
from psycopg.types.string import TextLoader

from hearth_api import Date, Decimal, Schema, Time, Type
from hearth_api.batch import arrow as pa
from hearth_api.batch import arrow_type, column_to_values
from hearth_jdbc.dialect.interface import MICROS, Column, Dialect, Rows, TableId, Upload, no_type
from hearth_jdbc.dialect.postgresql_column import AS_TEXT, column_of, to_array

_COLUMNS = """
    SELECT a.attrelid, a.attnum, a.attname, a.attnotnull,
        a.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%%',
        d.adbin IS NOT NULL OR a.attidentity <> '',
        EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND attnum = ANY (indkey)),
        t.typname, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE a.atttypid END,
        CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END, t.typtype, t.typcategory
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped AND """
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
_SQL_TYPE = {
    Type.INT8: "SMALLINT", Type.INT16: "SMALLINT", Type.INT32: "INT", Type.INT64: "BIGINT", Type.FLOAT32: "REAL",
    Type.FLOAT64: "DOUBLE PRECISION", Type.BOOLEAN: "BOOLEAN", Type.STRING: "TEXT", Type.BYTES: "BYTEA",
}  # fmt: skip
_LOGICAL_TYPE = {
    Decimal.LOGICAL_NAME: "DECIMAL", Date.LOGICAL_NAME: "DATE", Time.LOGICAL_NAME: "TIME", MICROS.name: "TIMESTAMP",
}  # fmt: skip
_PARAMETERS = {
    "sslmode": "sslmode", "sslrootcert": "sslrootcert", "sslcert": "sslcert", "sslkey": "sslkey",
    "ApplicationName": "application_name", "options": "options", "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout", "gssEncMode": "gssencmode", "channelBinding": "channel_binding",
}  # fmt: skip
"""Parameters of a JDBC URL and of libpq."""
_SERVERS = {"primary": "primary", "master": "primary", "secondary": "standby", "slave": "standby", "any": "any"}
_OF_THE_JAVA_DRIVER = {
    "reWriteBatchedInserts", "defaultRowFetchSize", "prepareThreshold", "binaryTransfer", "stringtype", "loglevel",
    "preparedStatementCacheQueries", "preparedStatementCacheSizeMiB", "assumeMinServerVersion", "autosave",
    "cleanupSavepoints", "adaptiveFetch", "user", "password", "ssl", "sslfactory", "currentSchema", "tcpKeepAlive",
    "targetServerType", "socketTimeout", "preferQueryMode", "unknownLength", "disableColumnSanitiser",
}  # fmt: skip
"""Parameters without effect here, and those that are handled one by one."""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')

_log = logging.getLogger(__name__)


class PostgreSqlDatabaseDialect(Dialect):
    """PostgreSQL."""

    NAME = "PostgreSqlDatabaseDialect"
    Error = psycopg.Error

    _isolation = ""
    _next_row = 1

    def parse_table(self, text: str) -> TableId:
        """Return the table; a database before the schema is left out, since a connection has one."""
        parts = [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(text)]
        if not self.quotes:
            parts = [part.lower() for part in parts]
        return TableId(parts[-2] if len(parts) > 1 else None, parts[-1])

    def connect(self, timeout: float, *, is_source: bool) -> Any:
        """Open a connection in which times are in UTC."""
        connection = psycopg.connect(**{"connect_timeout": int(timeout), **self._address()}, autocommit=True,
                                     prepare_threshold=None, client_encoding="utf8")  # fmt: skip
        connection.execute("SET timezone = 'UTC'; SET datestyle = ISO; SET bytea_output = hex")
        schemas = self.url.parameters.get("currentSchema")
        if schemas:
            names = ", ".join(self.quote(name.strip()) for name in schemas.split(","))
            connection.execute(f"SET search_path TO {names}")
        return connection

    def _address(self) -> dict[str, Any]:
        url, given = self.url, self.url.parameters
        parts: dict[str, Any] = {_PARAMETERS[name]: value for name, value in given.items() if name in _PARAMETERS}
        for name in given.keys() - _PARAMETERS.keys() - _OF_THE_JAVA_DRIVER:
            _log.warning("parameter %r of connection.url has no effect", name)
        if "sslmode" not in parts and given.get("ssl", "false").lower() in ("true", ""):
            is_lax = given.get("sslfactory", "").endswith("NonValidatingFactory")
            parts["sslmode"] = "require" if is_lax else "verify-full"
        parts["host"] = ",".join(host for host, _ in url.hosts) or "localhost"
        parts["port"] = ",".join(str(port or 5432) for _, port in url.hosts) or "5432"
        parts["dbname"] = url.database.strip("/") or self.user
        parts["target_session_attrs"] = _SERVERS.get(given.get("targetServerType", "any").lower(), "prefer-standby")
        parts["keepalives"] = int(given.get("tcpKeepAlive", "true").lower() == "true")
        if "socketTimeout" in given:
            parts["tcp_user_timeout"] = int(given["socketTimeout"]) * 1000
        return {**parts, "user": self.user, "password": self.password}

    def interrupt(self, connection: Any) -> None:
        """Cancel the running query."""
        connection.cancel_safe(timeout=2.0)

    def is_row_fault(self, error: Exception) -> bool:
        """Return whether an error is of the classes for data and constraints."""
        return (getattr(error, "sqlstate", None) or "")[:2] in ("22", "23")

    def tables(self, connection: Any, types: Collection[str], schema: str | None) -> list[TableId]:
        """Return the tables with their schemas."""
        kinds = [_KINDS[kind.upper()] for kind in types if kind.upper() in _KINDS]
        pattern = schema or None
        return [TableId(*names) for names in connection.execute(_TABLES, (kinds, pattern, pattern)).fetchall()]

    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns of a table or view."""
        own = Dialect.quote_table(self, table)
        rows = connection.execute(f"{_COLUMNS} a.attrelid = to_regclass(%s) ORDER BY a.attnum", (own,)).fetchall()
        return [_column(row) for row in rows]

    def query(self, connection: Any, sql: str, table: TableId | None) -> Rows:
        """Open a cursor of the server in a transaction that reads."""
        connection.execute(f"BEGIN{self._isolation} READ ONLY; {_MARK}")
        cursor = connection.cursor(name="hearth_rows")
        try:
            for kind in AS_TEXT:
                cursor.adapters.register_loader(kind, TextLoader)
            cursor.execute(sql)
            return _PostgreSqlRows(connection, cursor, self._result(connection, cursor), self.zone)
        except BaseException:
            self._roll_back(connection, "ROLLBACK")
            cursor.close()
            raise

    def _result(self, connection: Any, cursor: Any) -> list[Column]:
        """Return the columns of a result: those of tables as the tables describe them, the others by their type."""
        result, description = cursor.pgresult, cursor.description
        places = [(result.ftable(place), result.ftablecol(place)) for place in range(len(description))]
        tables = [table for table in dict.fromkeys(table for table, _ in places) if table]
        rows = connection.execute(f"{_COLUMNS} a.attrelid = ANY (%s::oid[])", (tables,)).fetchall() if tables else []
        known = {(row[0], row[1]): row for row in rows}
        return [
            _column((*known[at][:2], each.name, *known[at][3:])) if at in known else self._computed(connection, each)
            for at, each in zip(places, description)
        ]

    def _computed(self, connection: Any, column: Any) -> Column:
        sql = "SELECT typname, typtype, typcategory FROM pg_type WHERE oid = %s"
        name, kind, category = connection.execute(sql, (column.type_code,)).fetchone()
        modifier = -1
        if column.precision is not None:
            modifier = (column.precision << 16 | (column.scale or 0) & 0x7FF) + 4
        return column_of(column.name, name, column.type_code, modifier, kind, category)

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

    def open_transactions(self, connection: Any, *, writers_only: bool) -> Mapping[str, str]:
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
        found = connection.execute(sql, (Dialect.quote_table(self, table), name)).fetchone()
        if found is not None and found[0] > 1:
            _log.warning(
                "the sequence of %s.%s gives each session %d numbers in advance: a row with a lower number may come"
                " later and is then not read; use mode=timestamp+incrementing, or a sequence with CACHE 1",
                table, name, found[0],
            )  # fmt: skip

    def isolate(self, connection: Any, mode: str) -> None:
        """Remember the isolation for the transactions that read."""
        self._isolation = "" if mode == "default" else f" ISOLATION LEVEL {mode.replace('_', ' ').upper()}"

    # Sink --------------------------------------------------------------------------------------------------------

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
        if schema.name == Decimal.LOGICAL_NAME:
            from hearth_jdbc.decimal_column import decimal_texts

            return decimal_texts(schema, array)
        if schema.name == Date.LOGICAL_NAME:
            return array.cast(pa.date32())
        if schema.name == Time.LOGICAL_NAME:
            return array.cast(pa.time32("ms"))
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


def _column(row: Sequence[Any]) -> Column:
    _, _, name, is_required, counts, has_default, is_key, type_name, oid, modifier, kind, category = row
    found = column_of(name, type_name, oid, modifier, kind, category)
    more = {"is_optional": not is_required, "is_auto_increment": counts, "has_default": has_default, "is_key": is_key}
    return Column(**{**vars(found), **more})


class _PostgreSqlRows(Rows):
    """Rows of a cursor of the server."""

    def __init__(self, connection: Any, cursor: Any, columns: Sequence[Column], zone: str) -> None:
        self._connection = connection
        self._cursor = cursor
        self.columns = columns
        self._zone = zone

    def fetch(self, count: int) -> list[Any] | None:
        rows = self._cursor.fetchmany(count)
        if not rows:
            return None
        return [to_array(column, cells, self._zone) for column, cells in zip(self.columns, zip(*rows))]

    def close(self) -> None:
        try:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")
        finally:
            self._cursor.close()
