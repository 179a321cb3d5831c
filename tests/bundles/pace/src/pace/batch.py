"""The source and the sink of keyed records with two headers, on columns."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import STRING_SCHEMA, SinkTask, SourceTask
from hearth_api.batch import (
    Batch,
    BatchSinkTask,
    BatchSourceTask,
    batch_to_sink_records,
    header_lists,
    schema_texts,
)
from pace import START, TEXT, PaceSink, PaceSinkTask, PaceSource, PaceSourceTask


class PaceBatchSource(PaceSource):
    def task_class(self) -> type[SourceTask]:
        return PaceBatchSourceTask


class PaceBatchSink(PaceSink):
    def task_class(self) -> type[SinkTask]:
        return PaceBatchSinkTask


class PaceBatchSourceTask(BatchSourceTask, PaceSourceTask):
    def poll_batch(self) -> list[Batch] | None:
        count = min(self._left, self._at_once)
        self._left -= count
        if not count:
            self._rest()
            return None
        numbers = range(self._number, self._number + count)
        self._number += count
        values = [text for number in numbers for text in (f"trace-{number}", "pace")]
        columns = {
            "value": pa.array([f"{TEXT}{number:07d}" for number in numbers]),
            "key": pa.array([f"key-{number % 1000}" for number in numbers]),
            "timestamp": pa.array([START + number for number in numbers]),
            "source_offset": pa.array([f'{{"position":{number}}}' for number in numbers]),
            "headers": header_lists(*_names(count), pa.array(values)),
        }
        if self._partition is not None:
            columns["partition"] = pa.repeat(pa.scalar(self._partition, pa.int32()), count)
        data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return [Batch(self._topic, STRING_SCHEMA, STRING_SCHEMA, data, {"source": "pace"})]


@lru_cache(maxsize=2)
def _names(count: int) -> tuple[Any, Any, Any]:
    """Return the parts of headers that all polls share: the offsets, names and schemas."""
    ends = pa.array(range(0, 2 * count + 1, 2), pa.int32())
    return ends, pa.array(["trace", "origin"] * count), schema_texts(STRING_SCHEMA, 2 * count)


class PaceBatchSinkTask(BatchSinkTask, PaceSinkTask):
    def put_batch(self, batches: list[Batch]) -> None:
        self._raise_at_times(sum(batch.num_rows for batch in batches))
        for batch in batches:
            if self._report_every:
                offsets = batch.column("offset").to_numpy()
                bad = pa.array((offsets % self._report_every == 0).nonzero()[0])
                for record in batch_to_sink_records(batch.take(bad)):
                    self._report(record)
            texts = batch.column("value"), batch.column("key"), batch.column("headers").flatten().field("value")
            self._size += sum(pc.sum(pc.utf8_length(text)).as_py() or 0 for text in texts if text is not None)
            self._size += pc.sum(batch.column("timestamp")).as_py() % 2
            self._count += batch.num_rows
        os.pwrite(self._file, f"{self._count:012d}".encode(), 0)
