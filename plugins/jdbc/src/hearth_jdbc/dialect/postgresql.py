"""PostgreSQL, by psycopg: addresses, names, columns of tables."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

import psycopg

from hearth_jdbc.dialect.interface import Column, Dialect, TableId
from hearth_jdbc.dialect.postgresql_column import column_of

COLUMNS = """
    SELECT a.attrelid, a.attnum, a.attname, a.attnotnull,
        a.attidentity <> '' OR COALESCE(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%%',
        d.adbin IS NOT NULL OR a.attidentity <> '',
        EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary AND attnum = ANY (indkey)),
        t.typname, CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE a.atttypid END,
        CASE t.typtype WHEN 'd' THEN t.typtypmod ELSE a.atttypmod END, t.typtype, t.typcategory,
        a.attndims, e.typname, CASE e.typtype WHEN 'd' THEN e.typbasetype ELSE e.oid END, e.typtype, e.typcategory
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        JOIN pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE a.atttypid END
        LEFT JOIN pg_type e ON e.oid = b.typelem AND e.typarray = b.oid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped AND """
"""The columns of relations, to be completed by a condition on `a.attrelid`, the number of the relation."""
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
_NAME = re.compile(r'"((?:[^"]|"")+)"|([^."]+)')

_log = logging.getLogger(__name__)


class PostgreSql(Dialect):
    """PostgreSQL."""

    Error = psycopg.Error

    def parse_table(self, text: str) -> TableId:
        """Return the table; a database before the schema is left out, since a connection has one."""
        parts = [quoted.replace('""', '"') or plain for quoted, plain in _NAME.findall(text)]
        if not self.quotes:
            parts = [part.lower() for part in parts]
        return TableId(parts[-2] if len(parts) > 1 else None, parts[-1])

    def connect(self, timeout: float) -> Any:
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

    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns of a table or view."""
        own = Dialect.quote_table(self, table)
        rows = connection.execute(f"{COLUMNS} a.attrelid = to_regclass(%s) ORDER BY a.attnum", (own,)).fetchall()
        return [column_of_row(row) for row in rows]


def column_of_row(row: Sequence[Any]) -> Column:
    """Return the column of a row of `COLUMNS`; an array is of type OTHER."""
    _, _, name, is_required, counts, has_default, is_key, type_name, oid, modifier, kind, category, *_ = row
    found = column_of(name, type_name, oid, modifier, kind, category)
    more = {"is_optional": not is_required, "is_auto_increment": counts, "has_default": has_default, "is_key": is_key}
    return Column(**{**vars(found), **more})
