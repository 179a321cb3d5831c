"""The source task: asks the reader of each of its tables in turn."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from hearth_api import ConfigError, ConnectError, RetriableError, SourceRecord
from hearth_api.batch import Batch, BatchSourceTask, batch_to_source_records
from hearth_jdbc import VERSION
from hearth_jdbc.dialect.interface import Column, TableId
from hearth_jdbc.horizon import Horizon
from hearth_jdbc.idle_tables import rest_without_news
from hearth_jdbc.session import Session
from hearth_jdbc.source_offset import QUERY_PARTITION, Position, bulk_partition, partitions_of
from hearth_jdbc.source_setting import BULK, INCREMENTING, TABLES, TIMESTAMP, JdbcSourceConfig, column_mapping
from hearth_jdbc.table_list import tables_of
from hearth_jdbc.table_part import TablePart
from hearth_jdbc.table_query import TableQuery
from hearth_jdbc.table_reader import BulkReader, NewRowReader, TableReader, check_types

_log = logging.getLogger(__name__)

LONGEST_POLL = 1.0
"""Seconds after which a poll without rows returns."""
_GRACE = 0.2
"""Seconds after which `stop` ends a running query."""
RETRY_AFTER = 1.0
"""Seconds between a query that failed and the next."""


class JdbcSourceTask(BatchSourceTask):
    """Reads its tables one after another, each when its interval has passed, one batch per poll."""

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Connect, check the columns, and look up the offsets."""
        self._settings = settings = JdbcSourceConfig(props)
        self._stopped = threading.Event()
        self._polling = threading.Lock()
        self._failures = 0
        self._limit = settings.limit
        self._dialect = settings.source_dialect()
        self._session = Session(self._dialect, settings)
        tables: list[TableId | None] = [*tables_of(props.get(TABLES) or "")]
        if settings.whole_query:
            tables = [None]
        self._readers: list[TableReader] = []
        self._signal = self._dialect.signal() if settings.notifies else None
        try:
            connection = self._session.connection()
            if self._signal is not None:
                self._signal.create_triggers(connection, [table for table in tables if table is not None])
            self._dialect.isolate(connection, settings.transaction_isolation_mode.lower())
            stored = self._stored([table for table in tables if table is not None])
            part = TablePart.of(props)
            for table in tables:
                self._readers.append(self._reader(connection, table, part, stored.get(table)))
        except self._dialect.Error as error:
            raise ConnectError(f"cannot read {self._dialect.url}: {error}") from error
        self.context.metrics().gauge("rows-held-back-seconds", self._held_back, "How long rows wait for transactions.")

    def poll(self) -> list[SourceRecord] | None:
        """Return the next rows as records."""
        batches = self.poll_batch()
        return [record for batch in batches for record in batch_to_source_records(batch)] if batches else None

    def poll_batch(self) -> list[Batch] | None:
        """Return the next rows of one table; without any, wait up to a second."""
        deadline = time.monotonic() + LONGEST_POLL
        while not self._stopped.is_set():
            reader = min(self._readers, key=lambda each: (not each.is_reading, each.due), default=None)
            now = time.monotonic()
            if reader is not None and (reader.is_reading or reader.due <= now):
                batch = self._read(reader, now)
                if batch is not None:
                    return [batch]
            elif now >= deadline:
                return None
            else:
                self._wait((deadline if reader is None else min(deadline, reader.due)) - now)
        return None

    def stop(self) -> None:
        """Wake a waiting poll, end a running query, and close the connection."""
        self._stopped.set()
        self._session.stop()
        if self._signal is not None:
            self._signal.wake()
        if not self._polling.acquire(timeout=_GRACE):
            self._session.interrupt()
            self._polling.acquire()
        self._forget()
        self._polling.release()
        if self._signal is not None:
            self._signal.close()

    def _wait(self, seconds: float) -> None:
        """Wait, with notifications until a table changes."""
        if self._signal is None:
            self._stopped.wait(seconds)
            return
        try:
            changed = self._signal.wait(seconds)
        except self._dialect.Error as error:
            _log.warning("no notifications of %s at present: %s", self._dialect.url, error)
            self._stopped.wait(min(seconds, RETRY_AFTER))
            return
        for reader in self._readers:
            if isinstance(reader, NewRowReader) and (changed is None or str(reader.query.table) in changed):
                reader.notice()

    def _read(self, reader: TableReader, now: float) -> Batch | None:
        with self._polling:
            if self._stopped.is_set():
                return None
            try:
                connection = self._session.connection()
                if not reader.is_reading:
                    soon = now + self._settings.poll_interval_ms / 2000  # so that tables come to be due together
                    rest_without_news(self._dialect, connection, [each for each in self._readers if each.due <= soon])
                    if reader.due > now:
                        return None
                batch = reader.read(connection, self._limit)
            except self._dialect.Error as error:
                self._forget()
                reader.due = time.monotonic()  # other tables come first
                self._failures += 1
                most = self._settings.query_retry_attempts
                what = f"cannot read {reader.query.table or 'the query'}: {error}"
                if 0 <= most < self._failures:
                    raise ConnectError(what) from error
                self._stopped.wait(RETRY_AFTER)
                raise RetriableError(what) from error
            self._failures = 0
            return batch

    def _held_back(self) -> float:
        """Return the longest wait of a table's rows for open transactions, in seconds."""
        return max((each.held_back for each in self._readers if isinstance(each, NewRowReader)), default=0.0)

    def _forget(self) -> None:
        for reader in self._readers:
            reader.forget()
        self._session.drop()

    def _stored(self, tables: list[TableId]) -> dict[TableId | None, Mapping[str, Any]]:
        """Return the stored offsets, each under the newest form of its partition that has one."""
        if self._settings.mode == BULK:
            return {}
        if self._settings.whole_query:
            asked: list[tuple[TableId | None, dict[str, str]]] = [(None, QUERY_PARTITION)]
        else:
            asked = [(table, partition) for table in tables for partition in partitions_of(table)]
        offsets = self.context.offset_storage_reader().offsets([partition for _, partition in asked])
        found: dict[TableId | None, Mapping[str, Any]] = {}
        for (table, _), offset in zip(asked, offsets):
            if offset is not None:
                found.setdefault(table, offset)
        return found

    def _reader(
        self, connection: Any, table: TableId | None, part: TablePart | None, offset: Mapping[str, Any] | None
    ) -> TableReader:
        settings = self._settings
        columns = [] if table is None else self._dialect.describe(connection, table)
        if table is not None and not columns:
            raise ConnectError(f"there is no table {str(table)!r} in {self._dialect.url}")
        number, times = self._number(table, columns), self._times(table, columns)
        query = TableQuery(
            self._dialect, table, settings.whole_query, settings.query_suffix.strip(), times, number, part
        )
        topic = settings.topic_prefix.strip() + ("" if table is None else table.name)
        rules, interval = settings.field_rules(), settings.poll_interval_ms / 1000
        if settings.mode == BULK:
            partition = QUERY_PARTITION if table is None else bulk_partition(table)
            return BulkReader(query, topic, partition, rules, interval)
        partition = QUERY_PARTITION if table is None else partitions_of(table)[0]
        if table is not None and number and not times:
            self._dialect.warn_of_gaps(connection, table, number)
        delay = settings.timestamp_delay_interval_ms * 1000
        horizon = Horizon(self._dialect, query, delay, waits=settings.open_transactions.lower() == "wait")
        position = Position.of(offset) if offset else self._first_position(connection)
        return NewRowReader(query, topic, partition, rules, interval, position=position, horizon=horizon)

    def _first_position(self, connection: Any) -> Position:
        initial = self._settings.timestamp_initial
        if initial is None:
            return Position()
        return Position(self._dialect.now(connection) // 1000 * 1000 if initial == -1 else initial * 1000)

    def _number(self, table: TableId | None, columns: list[Column]) -> str:
        """Return the incrementing column, "" in a mode without."""
        settings = self._settings
        if not settings.uses_number:
            return ""
        if settings.incrementing_column_mapping:
            names = _mapped("incrementing.column.mapping", settings.incrementing_column_mapping, table)
        else:
            names = [settings.incrementing_column_name] if settings.incrementing_column_name else []
        if not names:
            names = [column.name for column in columns if column.is_auto_increment]
            if len(names) != 1:
                raise ConfigError(
                    f"table {table} has {len(names)} auto-increment columns, so incrementing.column.name is required"
                )
        return self._checked(INCREMENTING, table, names, columns)[0]

    def _times(self, table: TableId | None, columns: list[Column]) -> list[str]:
        """Return the timestamp columns, none in a mode without."""
        settings = self._settings
        if not settings.uses_timestamp:
            return []
        if settings.timestamp_columns_mapping:
            names = _mapped("timestamp.columns.mapping", settings.timestamp_columns_mapping, table)
        else:
            names = [name.strip() for name in settings.timestamp_column_name]
        return self._checked(TIMESTAMP, table, names, columns)

    def _checked(self, what: str, table: TableId | None, names: list[str], columns: list[Column]) -> list[str]:
        """Return the names as the table spells them; one must not allow null, for `validate.non.null`."""
        if table is None:
            return names
        by_name = {column.name.lower(): column for column in columns}
        for name in names:
            if name.lower() not in by_name:
                near = get_close_matches(name, [column.name for column in columns], 3)
                hint = f"did you mean {' or '.join(map(repr, near))}?" if near else None
                raise ConfigError(f"{what} column {name!r} does not exist in table {str(table)!r}", hint=hint)
        found = [by_name[name.lower()] for name in names]
        check_types(what, found)
        if self._settings.validate_non_null and all(column.is_optional for column in found):
            raise ConnectError(
                f"{what} column {found[0].name!r} of table {str(table)!r} allows null, and such rows are not read",
                hint="declare the column NOT NULL, or set validate.non.null=false",
            )
        return [column.name for column in found]


def _mapped(key: str, entries: list[str], table: TableId | None) -> list[str]:
    """Return the columns of the one entry that matches a table."""
    found = [columns for pattern, columns in column_mapping(key, entries) if pattern.fullmatch(str(table or ""))]
    if len(found) != 1:
        raise ConfigError(f"table {str(table)!r} matches {len(found)} entries of {key}, not one")
    return found[0]
