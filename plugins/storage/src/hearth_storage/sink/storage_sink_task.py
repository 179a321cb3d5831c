"""The task of every sink: records in, files out."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from hearth_api import ConnectError, DataError, OffsetAndMetadata, RetriableError, Schema, SinkRecord, TopicPartition
from hearth_api.batch import Batch, BatchSinkTask, Declined, records_to_batches
from hearth_storage import VERSION
from hearth_storage.format.parquet import ParquetFormat
from hearth_storage.sink.file_delivery import Delivery, ObjectDelivery
from hearth_storage.sink.file_group import HEADERS, KEY, VALUE, Claim
from hearth_storage.sink.file_writer import FileWriter
from hearth_storage.sink.joda_format import zone_of
from hearth_storage.sink.partition_writer import Part, PartitionWriter
from hearth_storage.sink.record_part import header_part, key_part
from hearth_storage.sink.rotation import Rotation, Rows
from hearth_storage.sink.row_size import row_sizes
from hearth_storage.sink.schema_compatibility import SchemaCompatibility
from hearth_storage.sink.sink_setting import FAIL, IGNORE, StorageSinkConfig
from hearth_storage.sink.upload import Uploads

TAIL_SIZE = 16 * 1024 * 1024
"""Bytes of rows of one Kafka partition that wait in memory before they are encoded."""
MOST_WAITING = 268_435_456
"""Bytes of files that wait for the store before the task takes no more records."""
COMMIT_SECONDS = 0.5
"""How long a commit waits for files that have ended to be written here, and then to be in the store."""
_LOOK_UPS = 16


class StorageSinkTask(BatchSinkTask):
    """Writes records to files whose bounds follow from offsets and times of records, and commits behind them.

    The order is the guarantee: an offset is committed only when every file with an offset before it is complete in the
    store, and a task that starts there again makes the same files, or goes on behind those that it finds.
    """

    settings: ClassVar[type[StorageSinkConfig]]

    def version(self) -> str:
        """Return the version of the bundle."""
        return VERSION

    def start(self, props: Mapping[str, str]) -> None:
        """Parse the settings and check that the store answers."""
        self._writers: dict[TopicPartition, PartitionWriter] = {}
        self._claims: dict[TopicPartition, Claim] = {}
        self._known: set[tuple[str, Schema | None]] = set()
        self._config = config = self.settings(props)
        self._place = place = config.place()
        place.check()
        self._partitioner = config.partitioner()
        self._formats = config.formats()
        self._rule = SchemaCompatibility(config.schema_compatibility)
        zone = zone_of(config.timezone) if config.timezone else None
        self._rotation = Rotation(
            config.flush_size, config.flush_bytes, config.rotate_interval_ms, config.rotate_on_partition_change,
            config.max_open_files, config.rotate_schedule_interval_ms, zone,
        )  # fmt: skip
        self._delivery = self._new_delivery()
        self._uploads = Uploads(self._delivery, config.retry_backoff_ms / 1000)
        self._writer = FileWriter(self._formats, self._uploads)
        self._look_ups = ThreadPoolExecutor(_LOOK_UPS, "look-ups")

    def open(self, partitions: Collection[TopicPartition]) -> None:
        """Begin with no open files, behind those that the store says it has."""
        look_up = None if self._delivery.knows_offsets else self._place
        for partition in partitions:
            claim = self._claims[partition] = Claim(partition)
            start = self._delivery.begin(claim)
            if start is not None:
                self.context.offset(partition, start)
            self._writers[partition] = PartitionWriter(
                claim, look_up, self._writer, self._stem(partition), self._rotation, self._rule
            )

    def put(self, records: Collection[SinkRecord]) -> None:
        """Write the records; those that cannot be written go to the reporter, if there is one."""
        reporter = self.context.errant_record_reporter()
        now, good = _now(), []
        if reporter is None:
            self._put_parts(self._all_parts(records_to_batches(list(records)), now), now)
            return
        for record in records:
            try:
                if record.value is None and self._reports_nulls:
                    raise DataError("Skipping null value record.")
                self._all_parts(records_to_batches([record]), now)
            except DataError as error:
                reporter.report(record, error)
            else:
                good.append(record)
        self._put_parts(self._all_parts(records_to_batches(good), now), now)

    def put_batch(self, batches: list[Batch]) -> Declined | None:
        """Write the batches; where a row is at fault, nothing, and `put` finds it if there is a reporter."""
        has_reporter = self.context.errant_record_reporter() is not None
        if has_reporter and self._reports_nulls and any(map(_has_nulls, batches)):
            return NotImplemented
        now = _now()
        try:
            parts = self._all_parts(batches, now)
        except DataError:
            if not has_reporter:
                raise
            return NotImplemented
        self._put_parts(parts, now)
        return None

    def pre_commit(
        self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the offsets behind complete files, and those of partitions for which no record waits.

        Files that have ended are awaited for a moment, so that a task that stops leaves little to do again.
        """
        self._writer.wait(0, COMMIT_SECONDS)
        self._uploads.wait(0, COMMIT_SECONDS)
        self._check()
        done = self._uploads.done()
        found = {}
        for partition, current in current_offsets.items():
            writer = self._writers.get(partition)
            if writer is not None and writer.is_empty and writer.pending == 0 and self._uploads.is_idle(partition):
                found[partition] = current
            elif partition in done:
                found[partition] = OffsetAndMetadata(min(done[partition], current.offset))
        return found

    def close(self, partitions: Collection[TopicPartition]) -> None:
        """Give up the files of the partitions that are not complete."""
        for partition in partitions:
            claim = self._claims.pop(partition, None)
            if claim is not None:
                claim.is_lost = True
            if self._writers.pop(partition, None) is not None:
                self._uploads.release(partition)

    def stop(self) -> None:
        """End the threads, and delete what this machine has."""
        for claim in getattr(self, "_claims", {}).values():
            claim.is_lost = True
        if hasattr(self, "_look_ups"):
            self._look_ups.shutdown(wait=True, cancel_futures=True)
            self._uploads.close()
            self._writer.close()
            self._delivery.end()

    def _all_parts(self, batches: list[Batch], now: int) -> list[Part]:
        """Return the records of batches; a row at fault raises a `DataError`, and nothing is put."""
        return [part for batch in batches if batch.num_rows for part in self._parts(batch, now)]

    def _put_parts(self, parts: list[Part], now: int) -> None:
        self._check()
        self._wait_for_store()
        for writer in self._writers.values():
            writer.check_clock(now)
        for part in parts:
            self._writers[part.partition].put(part, self._look_ups)
            self._free_memory()

    def _wait_for_store(self) -> None:
        """Let uploads catch up; if that takes long, ask for the same records again, so that the host can go on."""
        if not self._uploads.wait(MOST_WAITING, 1.0):
            self.context.timeout(100)
            raise RetriableError(f"{self._place.address} takes files more slowly than records come")

    def _free_memory(self) -> None:
        """Hand rows to the writer where a partition has many, and the most of them above the limit of the task."""
        groups = {partition: writer.group.tail_size for partition, writer in self._writers.items()}
        total = sum(groups.values())
        for partition in sorted(groups, key=groups.__getitem__, reverse=True):
            if groups[partition] < TAIL_SIZE and total <= self._config.buffer_memory:
                break
            self._writers[partition].flush_tail()
            total -= groups[partition]
        self._writer.wait(self._config.buffer_memory, 600)

    def _check(self) -> None:
        """Raise what a thread failed of."""
        self._writer.check()
        self._uploads.check()

    def _parts(self, batch: Batch, now: int) -> Iterator[Part]:
        """Yield the records of a batch by Kafka partition, with their directories; changes nothing of the task."""
        for partition, records in _by_partition(batch):
            column = records.column("value")
            nulls = records.num_rows if column is None else column.null_count
            if nulls and self._config.behavior_on_null_values.lower() == FAIL:
                raise ConnectError(
                    "Null valued records are not writeable with current behavior.on.null.values 'settings.",
                    hint="set behavior.on.null.values to ignore or write",
                )
            if nulls == records.num_rows:
                yield from self._tombstones(partition, records, now)
            elif nulls:
                for is_null, piece in _by_null(records, column):
                    yield from (
                        self._tombstones(partition, piece, now) if is_null else [self._part(partition, piece, now)]
                    )
            else:
                yield self._part(partition, records, now)

    def _tombstones(self, partition: TopicPartition, batch: Batch, now: int) -> Iterator[Part]:
        if self._config.writes_tombstones:
            yield self._part(partition, batch, now, is_dead=True)

    def _part(self, partition: TopicPartition, batch: Batch, now: int, *, is_dead: bool = False) -> Part:
        schemas: dict[str, Schema | None] = {}
        columns: dict[str, Any] = {}
        if not is_dead:
            schemas[VALUE], columns[VALUE] = batch.value_schema, batch.column("value")
        for kind, read in ((KEY, key_part), (HEADERS, header_part)):
            if kind in self._formats:
                is_enveloped = isinstance(self._formats[kind], ParquetFormat)
                schemas[kind], columns[kind] = read(batch, is_enveloped=is_enveloped)
        for kind, schema in schemas.items():
            self._check_schema(kind, schema)
            self._formats[kind].check(schema, columns[kind])
        return Part(
            partition, str(batch.topic), batch.originals()[2], self._rows(partition, batch, now, is_dead), schemas,
            columns,
        )  # fmt: skip

    def _rows(self, partition: TopicPartition, batch: Batch, now: int, is_dead: bool) -> Rows:
        times = self._times(batch, now, is_dead)
        if is_dead:
            path = self._config.tombstone_path
            return Rows(np.zeros(batch.num_rows, np.int32), [self._config.affixed(path, None)], times, None, 0)
        encoded = self._partitioner.encode(batch, partition.partition, now)
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        paths = [self._config.affixed(path, batch.value_schema) for path in encoded.dictionary.to_pylist()]
        sizes = row_sizes(batch.column("value")) if self._config.flush_bytes > 0 else None
        return Rows(codes, paths, times, sizes)

    def _times(self, batch: Batch, now: int, is_dead: bool) -> Any:
        if self._rotation.interval <= 0:
            return None
        times = batch.column("timestamp") if is_dead else self._partitioner.times(batch, now)
        return None if times is None else times.to_numpy(zero_copy_only=False)

    def _check_schema(self, kind: str, schema: Schema | None) -> None:
        """Raise a `DataError` for a schema that the format cannot hold, before records of it wait."""
        if (kind, schema) not in self._known:
            self._formats[kind].writer(_Nowhere(), schema)  # type: ignore[arg-type]
            self._known.add((kind, schema))

    @property
    def _reports_nulls(self) -> bool:
        return self._config.report_nulls and self._config.behavior_on_null_values.lower() == IGNORE

    def _new_delivery(self) -> Delivery:
        """Return how files come into the store."""
        return ObjectDelivery(self._place, if_absent=self._config.conditional_writes)

    def _stem(self, partition: TopicPartition) -> Any:
        config, directory = self._config, self._partitioner.path

        def name(topic: str, path: str, first: int, _last: int) -> str:
            offset = f"{first:0{config.zero_pad_width}d}"
            file = config.file_delim.join((topic, str(partition.partition), offset))
            above = [config.topics_dir] if config.topics_dir.strip() else []
            return config.directory_delim.join((*above, directory(topic, path), file))

        return name


class _Nowhere:
    """A file that keeps nothing."""

    def __init__(self) -> None:
        self._size = 0

    def write(self, data: Any) -> int:
        size = memoryview(data).nbytes
        self._size += size
        return size

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        return


def _now() -> int:
    return time.time_ns() // 1_000_000


def _has_nulls(batch: Batch) -> bool:
    column = batch.column("value")
    return batch.num_rows > 0 and (column is None or column.null_count > 0)


def _by_null(batch: Batch, column: Any) -> Iterator[tuple[bool, Batch]]:
    """Yield the records in order, in pieces with values and without."""
    is_null = column.is_null().to_numpy(zero_copy_only=False)
    bounds = [0, *(np.flatnonzero(is_null[1:] != is_null[:-1]) + 1).tolist(), len(is_null)]
    for start, stop in zip(bounds, bounds[1:]):
        yield bool(is_null[start]), batch.slice(start, stop - start)


def _by_partition(batch: Batch) -> Iterator[tuple[TopicPartition, Batch]]:
    """Yield the records of each Kafka partition, as they were read from Kafka."""
    topic, partitions, _ = batch.originals()
    for number in np.unique(partitions):
        mask = partitions == number
        yield TopicPartition(topic, int(number)), batch if mask.all() else batch.filter(pa.array(mask))
