"""A file for each form of a task, with equal content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from hearth_api import SinkRecord, SourceRecord
from hearth_api.batch import (
    BatchSinkTask,
    BatchSourceTask,
    batch_to_sink_records,
    batch_to_source_records,
    records_to_batches,
)
from hearth_api.testing import MemorySourceTaskContext
from tests.unit.hearth_api.strategy import ALIKE, SCHEMALESS, schemas, values

CONTENT = st.lists(st.sampled_from([b"a", b"bc", "é😀".encode(), b"\xff", b"\n", b"\r", b"\r\n"]), max_size=20).map(
    b"".join
)


def polled(kind: type[BatchSourceTask], data: st.DataObject, folder: Path) -> tuple[list[Any], list[Any]]:
    """Return the records that both forms read from one file; a record has the time of its poll."""
    (folder / "in").write_bytes(data.draw(CONTENT, label="content"))
    size = str(data.draw(st.integers(1, 5), label="batch.size"))

    def all_of(poll: Callable[[Any], list[SourceRecord]]) -> list[Any]:
        task = kind()
        task.initialize(MemorySourceTaskContext())
        task.start({"topic": "t", "file": str(folder / "in"), "batch.size": size})
        found = []
        while records := poll(task):
            found += [record.new_record(timestamp=0) for record in records]
        task.stop()
        return found

    return all_of(lambda task: task.poll() or []), all_of(_in_batches)


def _in_batches(task: BatchSourceTask) -> list[SourceRecord]:
    batches = task.poll_batch()
    if batches is NotImplemented:
        return task.poll() or []
    return [record for batch in batches or () for record in batch_to_source_records(batch)]


def put(kind: type[BatchSinkTask], data: st.DataObject, folder: Path) -> tuple[bytes, bytes]:
    """Return the contents of the files that both forms wrote."""
    typed = data.draw(st.lists(_TYPED, max_size=5) | _LISTS_ALIKE, label="values")
    records = [SinkRecord("t", 0, None, None, schema, value, offset) for offset, (schema, value) in enumerate(typed)]
    batches = records_to_batches(records)
    tasks = {name: kind() for name in ("records", "batches")}
    for name, task in tasks.items():
        task.start({"file": str(folder / name)})
    tasks["records"].put([record for batch in batches for record in batch_to_sink_records(batch)])
    if tasks["batches"].put_batch(batches) is NotImplemented:
        tasks["batches"].put([record for batch in batches for record in batch_to_sink_records(batch)])
    for task in tasks.values():
        task.flush({})
        task.stop()
    return (folder / "records").read_bytes(), (folder / "batches").read_bytes()


_TYPED = schemas().flatmap(lambda schema: values(schema).map(lambda value: (schema, value))) | SCHEMALESS.map(
    lambda value: (None, value)
)
_LISTS_ALIKE = ALIKE.flatmap(lambda shape: st.lists(shape.map(lambda value: (None, value)), min_size=1, max_size=5))
