"""The sink task: buffers rows and commits them to their tables."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence

import pyarrow as pa

from hearth_api import ConnectError, DataError, OffsetAndMetadata, RetriableError, SinkRecord, TopicPartition
from hearth_api.batch import Batch, BatchSinkTask, Declined, records_to_batches
from hearth_delta import VERSION
from hearth_delta.delta_setting import DeltaSinkConfig
from hearth_delta.lake_table import STORE_ERRORS, LakeTable, words
from hearth_delta.rows import Rows, key_columns, row_table

_log = logging.getLogger(__name__)


class DeltaSinkTask(BatchSinkTask):
    """Writes records to Delta tables, each exactly once.

    A put adds rows to a buffer. The buffer is committed, a table at a time, when it is large or old enough and before
    offsets are. A table skips rows that it has, so the buffer may be committed again after any error.
    """

    columns = frozenset({"key", "value", "partition", "offset", "original_partition", "original_offset"})

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Parse the settings; `open` reads the tables."""
        self._settings = DeltaSinkConfig(props)
        self._connector = props["name"]
        self._changes_topics = bool(props.get("transforms", "").strip())
        self._tables: dict[str, LakeTable] = {}
        self._buffer: dict[str, list[tuple[Rows, list[str]]]] = {}
        self._taken: dict[TopicPartition, int] = {}
        self._rows = self._bytes = self._failures = 0
        self._since = 0.0

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Go on after the offsets in the tables: they win over those of the consumer group.

        With transformations, which may send records of one topic to several tables, the group's offsets stay, and each
        table skips the rows that it has.
        """
        if self._changes_topics:
            return
        found: dict[TopicPartition, int] = {}
        for topic in sorted({place.topic for place in partitions}):
            places = [place for place in partitions if place.topic == topic]
            found |= self._positions(topic, places)
        if found:
            self.context.offset(found)

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Drop rows of the partitions that are not committed; they come again, to this task or another."""
        lost = list(partitions)
        for topic, parts in self._buffer.items():
            self._buffer[topic] = [(rows.without(lost), keys) for rows, keys in parts]
        for place in lost:
            self._taken.pop(place, None)
        self._count()

    def put(self, records: Collection[SinkRecord]) -> None:
        """Take the records; those that cannot be rows go to the reporter, if there is one."""
        self._attempt(lambda: self._take_parts(list(records)))
        self._flush_when_due()

    def put_batch(self, batches: list[Batch]) -> Declined | None:
        """Take the batches; where a row is at fault, none, and `put` finds it if there is a reporter."""
        try:
            self._attempt(lambda: self._take(batches))
        except DataError:
            if self.context.errant_record_reporter() is None:
                raise
            return NotImplemented
        self._flush_when_due()
        return None

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Commit the buffer."""
        self._attempt(self._flush)

    def stop(self) -> None:
        """Drop the buffer."""
        self._buffer.clear()

    def _take_parts(self, records: list[SinkRecord]) -> None:
        """Take records as a whole, or in halves until a record that cannot be a row is alone."""
        reporter = self.context.errant_record_reporter()
        try:
            self._take(records_to_batches(records))
        except DataError as error:
            if reporter is None:
                raise
            if len(records) > 1:
                half = len(records) // 2
                self._take_parts(records[:half])
                self._take_parts(records[half:])
                return
            reporter.report(records[0], error).result()  # the offset in the table wins, so the report comes first
            for batch in records_to_batches(records):
                self._add(str(batch.topic), Rows.of(batch), [])

    def _take(self, batches: Sequence[Batch]) -> None:
        """Add the rows of batches to the buffer, all or none."""
        found = []
        for batch in batches:
            late = self._untaken(batch)
            if late.num_rows:
                topic = str(late.topic)
                keys = (
                    key_columns(self._settings, late.key_schema, late.value_schema) if self._settings.is_upsert else []
                )
                rows = self._table(topic).prepared(row_table(self._settings, late))
                found.append((topic, Rows.of(late, rows), keys))
        for topic, part, keys in found:
            self._add(topic, part, keys)

    def _untaken(self, batch: Batch) -> Batch:
        """Return the records that are not in the buffer yet; after an error, records come again."""
        if not batch.num_rows:
            return batch
        mask = Rows.of(batch).is_since(self._taken)
        return batch if mask.all() else batch.filter(pa.array(mask))

    def _add(self, topic: str, part: Rows, keys: list[str]) -> None:
        if not self._rows:
            self._since = time.monotonic()
        self._buffer.setdefault(topic, []).append((part, keys))
        self._taken.update(part.ends())
        self._rows += len(part)
        self._bytes += part.nbytes

    def _count(self) -> None:
        """Count what is in the buffer."""
        parts = [rows for parts in self._buffer.values() for rows, _ in parts]
        self._rows, self._bytes = sum(map(len, parts)), sum(rows.nbytes for rows in parts)

    def _flush_when_due(self) -> None:
        settings = self._settings
        age = (time.monotonic() - self._since) * 1000
        is_large = self._rows >= settings.flush_size or self._bytes >= settings.flush_bytes
        if self._rows and (is_large or age >= settings.flush_interval_ms):
            self._attempt(self._flush)
            self.context.request_commit()

    def _flush(self) -> None:
        """Commit the buffer; what is committed leaves it."""
        for topic, parts in list(self._buffer.items()):
            keys = next((keys for _, keys in parts if keys), [])
            known = self._table(topic).commit([rows for rows, _ in parts], keys)
            if known:
                _log.info("table %s has %d of the records already", self._table(topic).address, known)
            del self._buffer[topic]
        self._count()
        self._failures = 0

    def _attempt(self, act: Callable[[], None]) -> None:
        """Act; after an error that may pass, ask for the same records again, at most `max.retries` times."""
        try:
            act()
        except STORE_ERRORS as error:
            for table in self._tables.values():
                table.forget()
            self._failures += 1
            text = f"cannot write to {self._settings.location}: {words(error)}"
            if self._failures > self._settings.max_retries:
                raise ConnectError(text) from error
            self.context.timeout(self._settings.retry_backoff_ms)
            raise RetriableError(text) from error

    def _positions(self, topic: str, places: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return the positions of a topic's partitions in its table; try again after errors."""
        table = self._table(topic)
        for attempt in range(self._settings.max_retries + 1):
            try:
                table.forget()
                return table.positions(places)
            except STORE_ERRORS as error:
                if attempt == self._settings.max_retries:
                    raise ConnectError(f"cannot read table {table.address}: {words(error)}") from error
                time.sleep(self._settings.retry_backoff_ms / 1000)
        raise AssertionError("unreachable")

    def _table(self, topic: str) -> LakeTable:
        table = self._tables.get(topic)
        if table is None:
            address = self._settings.address(topic)
            table = self._tables[topic] = LakeTable(self._settings, self._connector, address)
        return table
