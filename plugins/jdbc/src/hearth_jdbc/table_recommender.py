"""Suggests the tables of the database, where it can be reached."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from hearth_api import ConnectError, Recommender
from hearth_jdbc.connection_setting import ConnectionSettings

TIMEOUT = 3.0
"""Seconds that a suggestion gives to the database."""
_KEPT = 10.0
"""Seconds for which an answer is kept: a validation asks once per key."""
_URL, _TYPES = "connection.url", "table.types"


class TableRecommender(Recommender):
    """Suggests the names of tables; none if the database does not answer."""

    def __init__(self) -> None:
        """Start without an answer."""
        self._lock = threading.Lock()
        self._asked: Any = None
        self._until = 0.0
        self._names: list[str] = []

    def valid_values(self, name: str, parsed_config: Mapping[str, Any]) -> list[Any]:
        """Return the names, with their schemas if the database has schemas."""
        asked = {key: value for key, value in parsed_config.items() if value is not None}
        with self._lock:
            if asked != self._asked or time.monotonic() > self._until:
                self._names = _names(asked)
                self._asked, self._until = asked, time.monotonic() + _KEPT
            return list(self._names)


def _names(config: Mapping[str, Any]) -> list[str]:
    if not config.get(_URL):
        return []
    try:
        dialect = ConnectionSettings(config).source_dialect()
        return _listed(dialect, config.get(_TYPES) or ["TABLE"], config.get(dialect.NAMESPACE_KEY))
    except (ConnectError, ImportError):  # the validation of the other keys reports it
        return []


def _listed(dialect: Any, types: list[str], schema: str | None) -> list[str]:
    try:
        connection = dialect.connect(TIMEOUT)
    except dialect.Error:
        return []
    try:
        return [str(table) for table in dialect.tables(connection, types, schema)]
    except dialect.Error:
        return []
    finally:
        dialect.close(connection)
