"""Notifications of PostgreSQL: triggers tell a waiting task which tables have changed."""

from __future__ import annotations

import logging
import select
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from psycopg import errors

from hearth_api import ConnectError
from hearth_jdbc.dialect.interface import TableId

if TYPE_CHECKING:
    from hearth_jdbc.dialect.postgresql import PostgreSql

_CHANNEL = "hearth_changes"
_NAME = "hearth_notify"
_LOCK = "SELECT pg_advisory_xact_lock(1749905012, 1852797556)"
"""Lets one task at a time create the function, which others would find half created."""
_EXISTS = f"SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgname = '{_NAME}'"  # noqa: S608
_FUNCTION = f"""CREATE OR REPLACE FUNCTION {{schema}}.{_NAME}() RETURNS trigger LANGUAGE plpgsql AS
 $$ BEGIN PERFORM pg_notify('{_CHANNEL}', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME); RETURN NULL; END $$"""
_TRIGGER = f"""CREATE TRIGGER {_NAME} AFTER INSERT OR UPDATE ON {{table}}
 FOR EACH STATEMENT EXECUTE FUNCTION {{schema}}.{_NAME}()"""
_LONGEST_CONNECT = 10.0

_log = logging.getLogger(__name__)


class TableSignal:
    """Waits for changes of tables on a connection of its own."""

    def __init__(self, dialect: PostgreSql) -> None:
        """Store how to connect; the first wait connects."""
        self._dialect = dialect
        self._connection: Any = None
        self._wakes, self._waker = socket.socketpair()

    def create_triggers(self, connection: Any, tables: Sequence[TableId]) -> None:
        """Create the triggers that are missing; raise a ConnectError, with the statements, if that is not allowed."""
        for table in tables:
            name = self._dialect.quote_table(table)
            if connection.execute(_EXISTS, (name,)).fetchone() is not None:
                continue
            schema = self._dialect.quote(table.schema or "public")
            statements = [_FUNCTION.format(schema=schema), _TRIGGER.format(schema=schema, table=name)]
            try:
                with self._dialect.transaction(connection):
                    for sql in (_LOCK, *statements):
                        connection.execute(sql)
            except (errors.InsufficientPrivilege, errors.WrongObjectType) as error:
                raise ConnectError(
                    f"cannot create a trigger on table {table} for table.notifications=trigger: {error}",
                    hint=f"run as the owner of the table: {'; '.join(statements)}",
                ) from error

    def wait(self, seconds: float) -> set[str] | None:
        """Return the names of tables that have changed, after so many seconds none; None if all may have.

        An error of the connection is raised; the next wait connects again.
        """
        if self._connection is None:
            self._connection = self._dialect.connect(_LONGEST_CONNECT)
            self._connection.execute(f"LISTEN {_CHANNEL}")
            return None
        try:
            select.select([self._connection.fileno(), self._wakes], [], [], seconds)
            return self._received()
        except self._dialect.Error:
            self.drop()
            raise

    def _received(self) -> set[str]:
        driver = self._connection.pgconn
        driver.consume_input()
        found = set()
        while (notification := driver.notifies()) is not None:
            found.add(notification.extra.decode())
        return found

    def wake(self) -> None:
        """End a wait; from any thread."""
        self._waker.send(b"\0")

    def drop(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._dialect.close(connection)

    def close(self) -> None:
        """Close everything."""
        self.drop()
        self._wakes.close()
        self._waker.close()
