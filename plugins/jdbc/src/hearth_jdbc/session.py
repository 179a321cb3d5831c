"""The connection of a task: opened with several attempts, dropped after an error that ended it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hearth_api import ConnectError
from hearth_jdbc.connection_setting import ConnectionSettings
from hearth_jdbc.dialect.interface import Dialect

LONGEST_CONNECT = 10.0
"""Seconds that one attempt may take."""

_log = logging.getLogger(__name__)


class Session:
    """The connection of a task, opened when it is first needed and again after it was dropped."""

    def __init__(self, dialect: Dialect, settings: ConnectionSettings) -> None:
        """Store how to connect."""
        self.dialect = dialect
        self._attempts = settings.connection_attempts
        self._backoff = settings.connection_backoff_ms / 1000
        self._stopped = threading.Event()
        self._connection: Any = None

    def connection(self) -> Any:
        """Return the open connection, or open one; raise a ConnectError after the last attempt."""
        attempt = 0
        while self._connection is None:
            attempt += 1
            try:
                self._connection = self.dialect.connect(LONGEST_CONNECT)
            except self.dialect.Error as error:
                if attempt >= self._attempts or self._stopped.is_set():
                    raise ConnectError(f"cannot connect to {self.dialect.url}: {error}") from error
                _log.warning("cannot connect to %s, attempt %d: %s", self.dialect.url, attempt, error)
                self._stopped.wait(self._backoff)
        return self._connection

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Provide the connection, and close it at the end; an error of the database becomes a ConnectError."""
        try:
            yield self.connection()
        except self.dialect.Error as error:
            raise ConnectError(f"{self.dialect.url}: {error}") from error
        finally:
            self.drop()

    def drop(self) -> None:
        """Close the connection; the next call opens another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self.dialect.close(connection)

    def stop(self) -> None:
        """Wake a waiting attempt; from any thread."""
        self._stopped.set()

    def interrupt(self) -> None:
        """End a running query; from any thread."""
        connection = self._connection
        if connection is not None:
            try:
                self.dialect.interrupt(connection)
            except self.dialect.Error as error:
                _log.debug("nothing to end: %s", error)
