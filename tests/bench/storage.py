"""Case storage: the sinks of files, to a directory and to an S3 server, beside Arrow's own writer of the same rows.

Only Hearth, and only the plugin's part: batches of 2,000 that `put_batch` takes until their offsets are committed,
without converter and Kafka. Rows have eight fields with numbers, texts, a boolean, a timestamp and nulls; four files
have all of them. With many files, a field has 1,000 values and a file for each. Memory is what the process takes more
than before.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hearth_api import OffsetAndMetadata, TopicPartition
from hearth_api.batch import Batch
from hearth_api.testing import MemorySinkTaskContext
from hearth_storage.sink.sink_task import FilesSinkTask, S3SinkTask
from hearth_storage.sink.storage_sink_task import StorageSinkTask
from tests.bench.bench import Bench
from tests.bench.result import Metric, Result
from tests.bench.storage_source import ORDER, orders
from tests.object_store import StoreServer, serving_s3
from tests.unit.plugins.storage.world import local_settings, s3_settings

_ROWS_OF_A_BATCH = 2_000
_PLACE = TopicPartition("orders", 0)
_MANY = {"partitioner.class": "FieldPartitioner", "partition.field.name": "name"}
_METRICS = (
    Metric("local", "rows of Parquet to a directory in a second", "higher", 400_000, absolute=True, format="{:,.0f}"),
    Metric("ratio", "of pyarrow.parquet.write_table", "higher", 0.5, absolute=True, format="{:.2f}"),
    Metric("cpu", "µs of the processor for a row of Parquet", "lower", 3.0, absolute=True, format="{:.2f}"),
    Metric("s3", "rows of Parquet to an S3 server in a second", "higher", 400_000, absolute=True, format="{:,.0f}"),
    Metric("json", "lines of JSON to a directory in a second", "higher", 300_000, absolute=True, format="{:,.0f}"),
    Metric("many", "MB more with 1,000 open files", "lower", 300, absolute=True, format="{:,.0f}"),
    Metric("paths", "µs of the processor to put a row, 1,000 files", "lower", 4.0, absolute=True, format="{:.2f}"),
    Metric("longest", "seconds of the longest put", "lower", 1.0, absolute=True, format="{:.2f}"),
)


def measure(bench: Bench) -> Result:
    """Write the rows in each way, once for each pair."""
    result = Result("storage", "sinks of files", _METRICS)
    if "hearth" not in bench.sides:
        return result
    count = bench.rows // 4 // _ROWS_OF_A_BATCH * _ROWS_OF_A_BATCH * 4
    batches = list(_batches(count))
    with serving_s3() as server:
        for _ in range(bench.pairs):
            result.add("hearth", **_measured(bench, batches, count, server))
    return result


def _measured(bench: Bench, batches: list[Batch], count: int, server: StoreServer) -> dict[str, float]:
    table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(each.column("value")) for each in batches])
    started = time.monotonic()
    pq.write_table(table, io.BytesIO())
    own = time.monotonic() - started
    used, longest = time.process_time(), [0.0]
    local = _seconds(FilesSinkTask(), _local(bench, "ParquetFormat", count), batches, longest)
    used = time.process_time() - used
    s3 = s3_settings(server.url, topics_dir=bench.fresh("s3"), flush_size=str(count // 4))
    putting = [0.0]
    with _Watched() as peak:
        _seconds(FilesSinkTask(), {**_local(bench, "ParquetFormat", 4 * count), **_MANY}, batches, longest, putting)
    return {
        "local": count / local,
        "ratio": own / local,
        "cpu": used / count * 1e6,
        "s3": count / _seconds(S3SinkTask(), {**s3, "format.class": "ParquetFormat"}, batches, longest),
        "json": count / _seconds(FilesSinkTask(), _local(bench, "JsonFormat", count), batches, longest),
        "many": peak[0] / 1e6,
        "paths": putting[0] / count * 1e6,
        "longest": longest[0],
    }


def _local(bench: Bench, format_: str, count: int) -> dict[str, str]:
    folder = bench.folder / bench.fresh("files")
    folder.mkdir()
    return {**local_settings(folder, flush_size=str(count // 4)), "format.class": format_}


def _batches(count: int) -> Iterator[Batch]:
    """Yield the rows of 100,000 records again and again, under new offsets."""
    values = [orders(start, _ROWS_OF_A_BATCH) for start in range(0, min(count, 100_000), _ROWS_OF_A_BATCH)]
    partition = pa.array(np.zeros(_ROWS_OF_A_BATCH, np.int32))
    for number, start in enumerate(range(0, count, _ROWS_OF_A_BATCH)):
        offsets = pa.array(np.arange(start, start + _ROWS_OF_A_BATCH))
        columns = [values[number % len(values)], partition, offsets]
        yield Batch("orders", None, ORDER, pa.RecordBatch.from_arrays(columns, ["value", "partition", "offset"]))


def _seconds(
    task: StorageSinkTask, config: dict[str, str], batches: list[Batch], longest: list[float],
    putting: list[float] | None = None,
) -> float:  # fmt: skip
    """Return how long a task takes until all offsets are committed; `putting` gets the processor's time of puts."""
    used = time.thread_time()
    end = int(batches[-1].column("offset")[-1].as_py()) + 1
    task.initialize(MemorySinkTaskContext(config, {_PLACE}))
    task.start(config)
    task.open({_PLACE})
    started = time.monotonic()
    try:
        for batch in batches:
            before = time.monotonic()
            task.put_batch([batch])
            longest[0] = max(longest[0], time.monotonic() - before)
        if putting is not None:
            putting[0] = time.thread_time() - used
        while True:
            found = task.pre_commit({_PLACE: OffsetAndMetadata(end)}).get(_PLACE)
            if found is not None and found.offset == end:
                return time.monotonic() - started
    finally:
        task.stop()


class _Watched:
    """Tells how many bytes of memory the process has more than at the start, at most."""

    def __enter__(self) -> list[int]:
        self._end, self._first, self._peak = Event(), _memory(), [0]
        self._thread = Thread(target=self._watch)
        self._thread.start()
        return self._peak

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._end.wait(0.02):
            self._peak[0] = max(self._peak[0], _memory() - self._first)


def _memory() -> int:
    """Return the resident bytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))
