"""The source task: reads one file after another."""

from __future__ import annotations

import io
import logging
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, ClassVar

import pyarrow as pa

from hearth_api import DataError, NotFoundError, RetriableError, SourceRecord, TimestampType
from hearth_api.batch import Batch, BatchSourceTask, batch_to_source_records
from hearth_storage import VERSION
from hearth_storage.place.place import Entry
from hearth_storage.source.file_listing import FileListing, Unread
from hearth_storage.source.file_position import offset_column, partition_of
from hearth_storage.source.file_rows import FileRows, rows_of
from hearth_storage.source.source_setting import FAIL, LOG, TASK, TASKS, StorageSourceConfig

LONGEST_POLL = 1.0
"""Seconds after which a poll without files returns."""
SMALL = 4 * 1024 * 1024
"""Bytes up to which a file is fetched whole, before its turn."""
AHEAD, FETCHES = 8, 4
"""Files that are fetched before their turn, and how many at once."""
_log = logging.getLogger(__name__)


class StorageSourceTask(BatchSourceTask):
    """Reads the files of its share, each from the row behind the stored offset; each store derives a class."""

    settings: ClassVar[type[StorageSourceConfig]]

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Start to list."""
        self._settings = self.settings(props)
        self._place = self._settings.place()
        share = (int(props.get(TASK) or 0), int(props.get(TASKS) or 1))
        self._listing = FileListing(self._settings, self._place, share, self._stored)
        self._pool = ThreadPoolExecutor(FETCHES, "fetch")
        self._ahead: deque[tuple[Unread, dict[str, Future[bytes]]]] = deque()
        self._rows: Iterator[FileRows] | None = None
        self._row = 0
        self._polling = threading.Lock()
        self._listing.start()

    def stop(self) -> None:
        """End the listing and the fetches."""
        self._listing.stop()
        with self._polling:
            self._rows = None
            self._ahead.clear()
            self._pool.shutdown(wait=False, cancel_futures=True)

    def poll(self) -> list[SourceRecord] | None:
        """Return the next records, None if there are none at present."""
        batches = self.poll_batch()
        return None if batches is None else [record for each in batches for record in batch_to_source_records(each)]

    def poll_batch(self) -> list[Batch] | None:
        """Return the next records of the current file, or the first of the next one; None if there are none."""
        with self._polling:
            self._fetch()
            if not self._ahead and (unread := self._listing.take(LONGEST_POLL)) is not None:
                self._add(unread)
            while self._ahead:
                rows = self._next()
                if rows is not None:
                    return [self._batch(rows)]
                self._fetch()
        return None

    def is_exhausted(self) -> bool:
        """Return whether all files that were there at the start were read."""
        return not self._ahead and self._listing.is_complete

    def _stored(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        return self.context.offset_storage_reader().offsets(partitions)

    def _fetch(self) -> None:
        """Begin to fetch small files that come next."""
        while len(self._ahead) < AHEAD and (unread := self._listing.take(0)) is not None:
            self._add(unread)

    def _add(self, unread: Unread) -> None:
        file = unread.file
        entries = [each for each in (file.value, file.key, file.headers) if each is not None and each.size <= SMALL]
        fetched = {each.name: self._pool.submit(self._place.read, each.name) for each in entries}
        self._ahead.append((unread, fetched))

    def _next(self) -> FileRows | None:
        """Return rows of the first file; None at its end, or when it is left because of an error."""
        unread, fetched = self._ahead[0]
        file = unread.file
        try:
            if self._rows is None:
                self._row = unread.start
                self._rows = rows_of(file, unread.start, self._settings, lambda entry: self._opened(entry, fetched))
            rows = next(self._rows, None)
        except RetriableError:
            self._ahead[0] = (Unread(file, self._row), {})
            self._rows = None
            raise
        except NotFoundError:
            _log.warning("%s was deleted before it was read", file.name)
            rows = None
        except DataError as error:
            if self._settings.behavior_on_error == FAIL:
                raise DataError(f"{file.name}: {error}", hint="behavior.on.error=log goes on with the next") from error
            if self._settings.behavior_on_error == LOG:
                _log.warning("%s is left after row %d: %s", file.name, self._row, error)
            rows = None
        if rows is None:
            self._end()
        else:
            self._row += len(rows.value.column)
        return rows

    def _end(self) -> None:
        unread, _ = self._ahead.popleft()
        self._rows = None
        self._listing.finish(unread.file, self._row)

    def _opened(self, entry: Entry, fetched: dict[str, Future[bytes]]) -> BinaryIO:
        future = fetched.pop(entry.name, None)
        if future is not None:
            return io.BytesIO(future.result())
        file = self._place.reader(entry.name)
        return io.BufferedReader(file) if isinstance(file, io.RawIOBase) else file

    def _batch(self, rows: FileRows) -> Batch:
        file = self._ahead[0][0].file
        count = len(rows.value.column)
        columns = {
            "value": rows.value.column,
            "source_offset": offset_column(rows.first, count, file.version, is_end=rows.is_last),
        }
        if rows.key is not None:
            columns["key"] = rows.key.column
        if rows.headers is not None:
            columns["headers"] = rows.headers
        if file.partition is not None:
            columns["partition"] = pa.repeat(pa.scalar(file.partition, pa.int32()), count)
        data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        key_schema = None if rows.key is None else rows.key.schema
        partition = partition_of(self._place.address, file.name)
        return Batch(file.topic, key_schema, rows.value.schema, data, partition, TimestampType.CREATE_TIME)
