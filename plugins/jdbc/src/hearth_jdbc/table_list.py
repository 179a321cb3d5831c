"""Which tables a source reads, their parts, and the thread that looks for new tables."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any

from hearth_api import ConnectError
from hearth_jdbc.dialect.interface import TableId
from hearth_jdbc.dialect.source_dialect import SourceDialect
from hearth_jdbc.session import LONGEST_CONNECT
from hearth_jdbc.source_setting import JdbcSourceConfig, compiled
from hearth_jdbc.table_part import TablePart

_log = logging.getLogger(__name__)


def chosen_tables(settings: JdbcSourceConfig, tables: Sequence[TableId]) -> list[TableId]:
    """Return the tables that the lists of a configuration choose."""
    if settings.table_include_list:
        included = _patterns("table.include.list", settings.table_include_list)
        excluded = _patterns("table.exclude.list", settings.table_exclude_list)
        return [table for table in tables if _matches(table, included) and not _matches(table, excluded)]
    wanted, unwanted = set(settings.table_whitelist), set(settings.table_blacklist)
    if wanted:
        found = [table for table in tables if not wanted.isdisjoint((table.name, str(table)))]
        _log_missing(wanted - {name for table in found for name in (table.name, str(table))}, tables)
        return found
    return [table for table in tables if unwanted.isdisjoint((table.name, str(table)))]


def _patterns(key: str, texts: Sequence[str]) -> list[Any]:
    return [compiled(key, text) for text in texts]


def _matches(table: TableId, patterns: Sequence[Any]) -> bool:
    return any(pattern.fullmatch(str(table)) for pattern in patterns)


def _log_missing(names: set[str], tables: Sequence[TableId]) -> None:
    known = [name for table in tables for name in (table.name, str(table))]
    for name in sorted(names):
        near = get_close_matches(name, known, 3)
        hint = f", did you mean {' or '.join(near)}?" if near else ""
        _log.warning("there is no table %r in the database%s", name, hint)


def check_topics(tables: Sequence[TableId]) -> None:
    """Raise a ConnectError if two tables have one topic."""
    first: dict[str, TableId] = {}
    for table in tables:
        other = first.setdefault(table.name, table)
        if other != table:
            raise ConnectError(
                f"tables {other} and {table} have one topic, which ends with {table.name!r}",
                hint="choose one of them by table.whitelist or schema.pattern, or use two connectors",
            )


class TableWatch:
    """Lists the tables at intervals, on a thread, and calls back when they have changed."""

    def __init__(self, dialect: SourceDialect, settings: JdbcSourceConfig, changed: Callable[[], None]) -> None:
        """Store what to list."""
        self._dialect = dialect
        self._settings = settings
        self._changed = changed
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jdbc-tables", daemon=True)
        self.tables: list[TableId] = []

    def start(self) -> None:
        """List the tables once, then go on on the thread."""
        self.tables = self._list()
        if self._settings.table_poll_interval_ms > 0:
            self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(5.0)

    def _run(self) -> None:
        while not self._stopped.wait(self._settings.table_poll_interval_ms / 1000):
            try:
                tables = self._list()
            except (self._dialect.Error, ConnectError) as error:
                _log.warning("cannot list the tables of %s: %s", self._dialect.url, error)
                continue
            if tables != self.tables:
                _log.info("tables have changed: %s", ", ".join(map(str, tables)) or "none")
                self.tables = tables
                self._changed()

    def _list(self) -> list[TableId]:
        settings = self._settings
        connection = self._dialect.connect(LONGEST_CONNECT)
        try:
            tables = self._dialect.tables(
                connection, settings.table_types, settings.parsed[self._dialect.NAMESPACE_KEY]
            )
        finally:
            self._dialect.close(connection)
        chosen = chosen_tables(settings, tables)
        check_topics(chosen)
        return chosen


def quoted(table: TableId) -> str:
    """Return a table for a task's configuration."""
    parts = [table.name] if table.schema is None else [table.schema, table.name]
    return ".".join('"{}"'.format(part.replace('"', '""')) for part in parts)


def tables_of(text: str) -> list[TableId]:
    """Return the tables of a task's configuration."""
    tables, parts, at = [], [], 0
    while at < len(text):
        end = at + 1
        while text[end] != '"' or text[end : end + 2] == '""':
            end += 2 if text[end] == '"' else 1
        parts.append(text[at + 1 : end].replace('""', '"'))
        if text[end + 1 : end + 2] != ".":
            tables.append(TableId(*([None, *parts][-2:])))  # type: ignore[arg-type]
            parts = []
        at = end + 2
    return tables


def parts_of(
    dialect: SourceDialect, connection: Any, table: TableId, most: int, connector: str
) -> Sequence[TablePart]:
    """Return the parts of a table, up to `most`; none for a table without a primary key that can be divided."""
    columns = dialect.describe(connection, table)
    key = next((column for column in columns if column.is_key and not column.is_optional), None)
    points = [] if key is None else dialect.split_points(connection, table, key, most)
    if key is None or not points:
        return []
    facts = repr((connector, str(table), points)).encode()
    read = hashlib.sha256(facts).hexdigest()[:16]
    edges = [None, *points, None]
    count = len(points) + 1
    return [TablePart(read, at, count, key.name, edges[at], edges[at + 1]) for at in range(count)]
