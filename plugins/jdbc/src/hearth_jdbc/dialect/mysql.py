"""MySQL and MariaDB, by PyMySQL: addresses, names, columns of tables."""

from __future__ import annotations

import logging
import re
import ssl
from typing import Any

import pymysql
from pymysql.constants import CLIENT, ER

from hearth_jdbc.dialect.interface import Column, Dialect, TableId
from hearth_jdbc.dialect.mysql_column import column_of

_NAME = re.compile(r"`((?:[^`]|``)+)`|([^.`]+)")
_NO_TABLE = (ER.NO_SUCH_TABLE, ER.BAD_DB_ERROR)
_CHECK_FAILED, _OUT_OF_RANGE_IN_EXPRESSION, _BAD_JSON = 4025, 1690, 3140
_ROW_FAULTS = {
    ER.BAD_NULL_ERROR, ER.DUP_ENTRY, ER.WARN_DATA_OUT_OF_RANGE, ER.DATA_TOO_LONG, ER.TRUNCATED_WRONG_VALUE,
    ER.TRUNCATED_WRONG_VALUE_FOR_FIELD, ER.WARN_DATA_TRUNCATED, ER.NO_REFERENCED_ROW, ER.NO_REFERENCED_ROW_2,
    ER.ROW_IS_REFERENCED, ER.ROW_IS_REFERENCED_2, ER.NO_DEFAULT_FOR_FIELD, ER.CONSTRAINT_FAILED, _CHECK_FAILED,
    ER.CANT_CREATE_GEOMETRY_OBJECT, _OUT_OF_RANGE_IN_EXPRESSION, _BAD_JSON, 3819,
}  # fmt: skip
"""Errors of values and constraints."""
_OF_THE_JAVA_DRIVER = {
    "allowPublicKeyRetrieval", "autoReconnect", "cachePrepStmts", "characterEncoding", "connectionCollation",
    "connectionTimeZone", "maxReconnects", "nullCatalogMeansCurrent", "password", "prepStmtCacheSize",
    "prepStmtCacheSqlLimit", "rewriteBatchedStatements", "serverTimezone", "tcpKeepAlive", "tinyInt1isBit",
    "useBulkStmts", "useCompression", "useCursorFetch", "useLegacyDatetimeCode", "useServerPrepStmts", "useUnicode",
    "user", "yearIsDateType", "defaultFetchSize", "socketTimeout", "connectTimeout", "useSSL", "requireSSL", "sslMode",
    "verifyServerCertificate", "serverSslCert", "sessionVariables",
}  # fmt: skip
"""Parameters without effect here, and those that are handled one by one."""

_log = logging.getLogger(__name__)


def text_literal(text: str) -> str:
    """Return a text as SQL has it: in quotes, with quotes and backslashes doubled."""
    return "'{}'".format(text.replace("\\", "\\\\").replace("'", "''"))


class MySql(Dialect):
    """MySQL and MariaDB. A database of the server is what others call a schema."""

    QUOTE = "`"
    Error = pymysql.MySQLError

    def parse_table(self, text: str) -> TableId:
        """Return the table, with its database if the name has one."""
        parts = [quoted.replace("``", "`") or plain for quoted, plain in _NAME.findall(text)]
        return TableId(parts[-2] if len(parts) > 1 else None, parts[-1])

    def connect(self, timeout: float) -> Any:
        """Open a connection to the first host that answers; times are in UTC, and no value is cut to fit."""
        hosts = list(self.url.hosts) or [("localhost", None)]
        for host, port in hosts:
            try:
                connection = pymysql.connect(host=host, port=port or 3306, **self._address(timeout))
            except pymysql.OperationalError:
                if (host, port) == hosts[-1]:
                    raise
            else:
                break
        variables = self.url.parameters.get("sessionVariables")
        own = "sql_mode = CONCAT(REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), ',STRICT_ALL_TABLES')"
        self.execute(connection, f"SET {variables + ', ' if variables else ''}time_zone = '+00:00', {own}")
        return connection

    def _address(self, timeout: float) -> dict[str, Any]:
        given = self.url.parameters
        for name in given.keys() - _OF_THE_JAVA_DRIVER:
            _log.warning("parameter %r of connection.url has no effect", name)
        silence = int(given.get("socketTimeout", "0")) / 1000 or None
        return {
            "user": self.user, "password": self.password or "", "database": self.url.database or None,
            "connect_timeout": int(given.get("connectTimeout", "0")) / 1000 or timeout, "read_timeout": silence,
            "write_timeout": silence, "charset": "utf8mb4", "autocommit": True, "client_flag": CLIENT.FOUND_ROWS,
            **self._tls(),
        }  # fmt: skip

    def _tls(self) -> dict[str, Any]:
        """Return what the driver is told; without any parameter it uses TLS if the server has it."""
        given = self.url.parameters
        is_asked = given.get("requireSSL", "").lower() == "true"
        is_checked = given.get("verifyServerCertificate", "").lower() == "true"
        mode = given.get("sslMode", "verify-ca" if is_checked else "trust" if is_asked else "").lower()
        if mode in ("disable", "disabled") or (not mode and given.get("useSSL", "").lower() == "false"):
            return {"ssl_disabled": True}
        if mode in ("", "preferred"):
            return {}
        context = ssl.create_default_context(cafile=given.get("serverSslCert"))
        context.check_hostname = mode in ("verify_identity", "verify-full")
        if mode in ("required", "trust"):
            context.verify_mode = ssl.CERT_NONE
        return {"ssl": context}

    def close(self, connection: Any) -> None:
        """Close a connection, also one that is closed."""
        if connection.open:
            super().close(connection)

    def interrupt(self, connection: Any) -> None:
        """End the running statement from another connection."""
        other = self.connect(2.0)
        try:
            self.execute(other, f"KILL QUERY {connection.thread_id()}")
        finally:
            self.close(other)

    def is_row_fault(self, error: Exception) -> bool:
        """Return whether an error is one of values and constraints."""
        return bool(error.args) and error.args[0] in _ROW_FAULTS

    def describe(self, connection: Any, table: TableId) -> list[Column]:
        """Return the columns of an empty result, which tells all there is to know."""
        with connection.cursor() as cursor:
            try:
                cursor.execute(f"SELECT * FROM {self.quote_table(table)} LIMIT 0")  # noqa: S608 - quoted names
            except pymysql.ProgrammingError as error:
                if error.args[0] in _NO_TABLE:
                    return []
                raise
            return [column_of(field) for field in cursor._result.fields]

    def execute(self, connection: Any, sql: str) -> int:
        """Run a statement and return how many rows it found or inserted."""
        with connection.cursor() as cursor:
            return int(cursor.execute(sql))

    def rows(self, connection: Any, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a small query."""
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())
