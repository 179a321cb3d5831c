"""The sink task: writes what one put brings in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hearth_api import ConnectError, DataError, RetriableError, SinkRecord, TopicPartition
from hearth_api.batch import Batch, BatchSinkTask, Declined, records_to_batches
from hearth_jdbc import VERSION
from hearth_jdbc.offset_table import Fenced, OffsetTable
from hearth_jdbc.session import Session
from hearth_jdbc.sink_setting import JdbcSinkConfig
from hearth_jdbc.table_writer import TableWriter


class JdbcSinkTask(BatchSinkTask):
    """Writes records to tables. After a put, all its records are in the database, or none.

    If the database refuses a record and there is a reporter, the put is halved until that record is alone, and its
    parts are written in order, in a transaction each.
    """

    columns = frozenset({"key", "value", "partition", "offset", "original_partition", "original_offset"})

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Parse the settings; the first put connects."""
        self._settings = settings = JdbcSinkConfig(props)
        self._dialect = settings.sink_dialect()
        self._session = Session(self._dialect, settings)
        self._writers: dict[str, TableWriter] = {}
        self._failures = 0
        table = self._dialect.parse_table(settings.exactly_once_table)
        self._offsets = OffsetTable(self._dialect, table, props["name"]) if settings.is_exactly_once else None

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Go on after the offsets in the database, if it has them: they win over those of the consumer group."""
        if self._offsets is not None:
            found = self._claimed(self._offsets, partitions)
            if found:
                self.context.offset(found)

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Forget the offsets of the partitions."""
        if self._offsets is not None:
            self._offsets.release(partitions)

    def put(self, records: Collection[SinkRecord]) -> None:
        """Write the records; those that cannot be written go to the reporter, if there is one."""
        self._attempt(lambda connection: self._write_parts(connection, list(records)))

    def put_batch(self, batches: list[Batch]) -> Declined | None:
        """Write the batches; where a row is at fault, nothing, and `put` finds it if there is a reporter."""
        batches = [batch for batch in batches if batch.num_rows]
        try:
            self._attempt(lambda connection: self._write(connection, batches))
        except DataError:
            if self.context.errant_record_reporter() is None:
                raise
            return NotImplemented
        return None

    def stop(self) -> None:
        """Close the connection."""
        self._session.drop()

    def _write_parts(self, connection: Any, records: list[SinkRecord]) -> None:
        """Write records as a whole, or in halves until a record that cannot be written is alone."""
        reporter = self.context.errant_record_reporter()
        try:
            self._write(connection, records_to_batches(records))
        except (DataError, self._dialect.Error) as error:
            if reporter is None or not self._is_fault(error):
                raise
            if len(records) > 1:
                half = len(records) // 2
                self._write_parts(connection, records[:half])
                self._write_parts(connection, records[half:])
                return
            reported = reporter.report(records[0], self._fault(error))
            if self._offsets is not None:
                reported.result()  # the offset in the database wins, so the record must be safe before it
                self._write(connection, records_to_batches(records), rows=False)

    def _write(self, connection: Any, batches: Sequence[Batch], *, rows: bool = True) -> None:
        """Write batches in one transaction, after changes of tables in others."""
        ends: Mapping[TopicPartition, int] = {}
        if self._offsets is not None:
            batches = self._offsets.unwritten(connection, batches)
            ends = self._offsets.ends(batches)
        writers = self._prepared(connection, batches) if rows else []
        with self._dialect.transaction(connection):
            if self._offsets is not None:
                self._offsets.store(connection, ends)
            for writer, batch in zip(writers, batches):
                writer.write(connection, batch)
        if self._offsets is not None:
            self._offsets.advance(ends)

    def _prepared(self, connection: Any, batches: Sequence[Batch]) -> list[TableWriter]:
        writers = [self._writer(str(batch.topic)) for batch in batches]
        for writer, batch in zip(writers, batches):
            writer.prepare(connection, batch)
        return writers

    def _attempt(self, write: Callable[[Any], None]) -> None:
        """Write; after an error that may pass, ask for the same records again, at most `max.retries` times."""
        try:
            write(self._session.connection())
        except (Fenced, self._dialect.Error) as error:
            if self._is_fault(error):
                raise self._fault(error) from error
            text = self._forget(error)
            self._failures += 1
            if self._failures > self._settings.max_retries:
                raise ConnectError(text) from error
            self.context.timeout(self._settings.retry_backoff_ms)
            raise RetriableError(text) from error
        self._failures = 0

    def _claimed(self, offsets: OffsetTable, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        attempt = 0
        while True:
            try:
                return offsets.claim(self._session.connection(), partitions)
            except self._dialect.Error as error:
                text = self._forget(error)
                attempt += 1
                if attempt > self._settings.max_retries:
                    raise ConnectError(text) from error
                time.sleep(self._settings.retry_backoff_ms / 1000)

    def _is_fault(self, error: Exception) -> bool:
        """Return whether an error is that of a record."""
        return isinstance(error, DataError) or (
            isinstance(error, self._dialect.Error) and self._dialect.is_row_fault(error)
        )

    def _fault(self, error: Exception) -> DataError:
        return error if isinstance(error, DataError) else DataError(f"the database refuses a row: {_words(error)}")

    def _forget(self, error: Exception) -> str:
        """Drop what was known of the database, and return the error in words."""
        self._session.drop()
        for writer in self._writers.values():
            writer.forget()
        if self._offsets is not None:
            self._offsets.forget()
        return f"cannot write to {self._dialect.url}: {_words(error)}"

    def _writer(self, topic: str) -> TableWriter:
        writer = self._writers.get(topic)
        if writer is None:
            name = self._settings.table_name_format.replace("${topic}", topic)
            table = self._dialect.parse_table(name)
            writer = self._writers[topic] = TableWriter(self._dialect, self._settings, table)
        return writer


def _words(error: Exception) -> str:
    return " ".join(str(error).split())
