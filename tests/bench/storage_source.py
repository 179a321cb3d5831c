"""Case storage-source: the source of files, beside Arrow's own reader of the same Parquet file.

Only Hearth, and only the plugin's part: batches that `poll_batch` returns, without converter and Kafka. Rows have
eight fields with numbers, texts, a boolean, a timestamp and nulls; files have 100,000 rows each. The first metric is
rows a second, the second the ratio to `pyarrow.parquet.read_table`, the third the processor's time for a row.
"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import hearth_api as api
from hearth_api import SchemaBuilder, Timestamp
from hearth_api.batch import arrow_type
from hearth_api.testing import MemorySourceTaskContext
from hearth_storage.format.parquet import ParquetFormat
from hearth_storage.source.source_task import FilesSourceTask
from tests.bench.bench import Bench
from tests.bench.result import Metric, Result

ROWS_OF_A_FILE = 100_000
_METRICS = (
    Metric("rate", "rows of Parquet read in a second", "higher", 400_000, absolute=True, format="{:,.0f}"),
    Metric("ratio", "of pyarrow.parquet.read_table", "higher", 0.25, absolute=True, format="{:.2f}"),
    Metric("cpu", "µs of the processor for a row", "lower", 3.0, absolute=True, format="{:.2f}"),
)
ORDER = (
    SchemaBuilder.struct().name("com.acme.Order").field("id", api.INT64_SCHEMA).field("customer", api.INT32_SCHEMA)
    .field("name", api.STRING_SCHEMA).field("price", api.FLOAT64_SCHEMA).field("paid", api.BOOLEAN_SCHEMA)
    .field("at", Timestamp.builder().build()).field("note", api.OPTIONAL_STRING_SCHEMA)
    .field("count", api.INT32_SCHEMA).build()
)  # fmt: skip


def measure(bench: Bench) -> Result:
    """Write the files once, and read them once for each pair."""
    result = Result("storage-source", "sources of files", _METRICS)
    if "hearth" not in bench.sides:
        return result
    folder = bench.folder / bench.fresh("storage")
    files = [_written(folder, start) for start in range(0, bench.rows, ROWS_OF_A_FILE)]
    count = len(files) * ROWS_OF_A_FILE
    for _ in range(bench.pairs):
        started = time.monotonic()
        assert sum(pq.read_table(file).num_rows for file in files) == count
        own = time.monotonic() - started
        started, used = time.monotonic(), time.process_time()
        assert _read(folder, count) == count
        seconds, used = time.monotonic() - started, time.process_time() - used
        result.add("hearth", rate=count / seconds, ratio=own / seconds, cpu=used / count * 1e6)
    return result


def orders(start: int, count: int) -> pa.StructArray:
    """Return a column of orders."""
    numbers = range(start, start + count)
    columns = [
        pa.array(numbers, pa.int64()), pa.array([each * 7919 % 50_000 for each in numbers], pa.int32()),
        pa.array([f"name {each % 1000}" for each in numbers]), pa.array([each % 10_000 / 100 for each in numbers]),
        pa.array([each % 3 == 0 for each in numbers]), pa.array([1_577_836_800_000 + each for each in numbers]),
        pa.array([None if each % 3 == 0 else f"note {each}" for each in numbers]),
        pa.array([each % 10 for each in numbers], pa.int32()),
    ]  # fmt: skip
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(ORDER)))


def _written(folder: Path, start: int) -> Path:
    path = folder / "topics" / "orders" / "partition=0" / f"orders+0+{start:010}.snappy.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        writer = ParquetFormat({}).writer(out, ORDER)
        writer.write(orders(start, ROWS_OF_A_FILE))
        writer.close()
    return path


def _read(folder: Path, count: int) -> int:
    config = {"name": "bench", "directory": str(folder), "file.poll.interval.ms": "60000"}
    task = FilesSourceTask()
    task.initialize(MemorySourceTaskContext(config))
    task.start(config)
    found = 0
    try:
        while found < count:
            found += sum(map(len, task.poll_batch() or ()))
    finally:
        task.stop()
    return found
