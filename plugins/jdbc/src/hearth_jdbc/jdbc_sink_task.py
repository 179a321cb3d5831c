"""The sink task: writes what one put brings in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from hearth_api import ConnectError, DataError, RetriableError, SinkRecord
from hearth_api.batch import Batch, BatchSinkTask, Declined, records_to_batches
from hearth_jdbc import VERSION
from hearth_jdbc.session import Session
from hearth_jdbc.sink_setting import JdbcSinkConfig
from hearth_jdbc.table_writer import TableWriter

Faults = list[tuple[SinkRecord, Exception]]


class JdbcSinkTask(BatchSinkTask):
    """Writes records to tables. All records of a put are in the database after it, or none."""

    columns = frozenset({"key", "value", "partition", "offset"})

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Parse the settings; the first put connects."""
        self._settings = settings = JdbcSinkConfig(props)
        self._dialect = settings.dialect()
        self._session = Session(self._dialect, settings, is_source=False)
        self._writers: dict[str, TableWriter] = {}
        self._failures = 0

    def put(self, records: Collection[SinkRecord]) -> None:
        """Write the records; those that cannot be written go to the reporter, if there is one."""
        reporter = self.context.errant_record_reporter()
        faults: Faults = []

        def write(connection: Any) -> None:
            faults.clear()
            fitting = self._fitting(connection, list(records), faults)
            with self._dialect.transaction(connection):
                self._write_halving(connection, fitting, faults)

        if reporter is None:
            self._attempt(lambda connection: self._write(connection, records_to_batches(list(records))))
            return
        self._attempt(write)
        for record, error in faults:
            reporter.report(record, error)

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

    def _write(self, connection: Any, batches: Sequence[Batch]) -> None:
        """Write batches in one transaction, after changes of tables in others."""
        writers = self._prepared(connection, batches)
        with self._dialect.transaction(connection):
            for writer, batch in zip(writers, batches):
                writer.write(connection, batch)

    def _prepared(self, connection: Any, batches: Sequence[Batch]) -> list[TableWriter]:
        writers = [self._writer(str(batch.topic)) for batch in batches]
        for writer, batch in zip(writers, batches):
            writer.prepare(connection, batch)
        return writers

    def _fitting(self, connection: Any, records: list[SinkRecord], faults: Faults) -> list[SinkRecord]:
        """Return the records that are rows of their tables, and add the others to `faults`."""
        try:
            self._prepared(connection, records_to_batches(records))
        except DataError as error:
            if len(records) == 1:
                faults.append((records[0], error))
                return []
            half = len(records) // 2
            return [
                *self._fitting(connection, records[:half], faults),
                *self._fitting(connection, records[half:], faults),
            ]
        return records

    def _write_halving(self, connection: Any, records: list[SinkRecord], faults: Faults) -> None:
        """Write records in order; halve what fails until it is one record, and add that to `faults`."""
        if not records:
            return
        try:
            with self._dialect.savepoint(connection):
                for batch in records_to_batches(records):
                    self._writer(str(batch.topic)).write(connection, batch)
        except (DataError, self._dialect.Error) as error:
            if not isinstance(error, DataError) and not self._dialect.is_row_fault(error):
                raise
            if len(records) == 1:
                faults.append((records[0], self._fault(error)))
                return
            half = len(records) // 2
            self._write_halving(connection, records[:half], faults)
            self._write_halving(connection, records[half:], faults)

    def _attempt(self, write: Callable[[Any], None]) -> None:
        """Write; after an error that may pass, ask for the same records again, at most `max.retries` times."""
        try:
            write(self._session.connection())
        except self._dialect.Error as error:
            if self._dialect.is_row_fault(error):
                raise self._fault(error) from error
            self._forget()
            self._failures += 1
            text = f"cannot write to {self._dialect.url}: {_words(error)}"
            if self._failures > self._settings.max_retries:
                raise ConnectError(text) from error
            self.context.timeout(self._settings.retry_backoff_ms)
            raise RetriableError(text) from error
        self._failures = 0

    def _fault(self, error: Exception) -> DataError:
        return error if isinstance(error, DataError) else DataError(f"the database refuses a row: {_words(error)}")

    def _forget(self) -> None:
        self._session.drop()
        for writer in self._writers.values():
            writer.forget()

    def _writer(self, topic: str) -> TableWriter:
        writer = self._writers.get(topic)
        if writer is None:
            name = self._settings.table_name_format.replace("${topic}", topic)
            table = self._dialect.parse_table(name)
            writer = self._writers[topic] = TableWriter(self._dialect, self._settings, table)
        return writer


def _words(error: Exception) -> str:
    return " ".join(str(error).split())
