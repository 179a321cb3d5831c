"""When a spooling task seals a segment."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from hearth.datasource import spooling_task
from hearth.datasource.segment import Segment, batches_of
from hearth.datasource.spark_batch import SparkBatches
from hearth.datasource.spool_directory import DirectoryStore
from hearth.datasource.spooling_task import SpoolAccess, SpoolingTask
from hearth.staging.source_stage import Idle
from tests.unit.datasource.acting_source import acting_plan
from tests.unit.datasource.test_stream_read import SCHEMA


def test_large_segment_is_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its bytes as well as by its rows: what a task of Spark reads is bounded, however large a row is."""
    monkeypatch.setattr(spooling_task, "MOST_BYTES", 2000)
    monkeypatch.setattr(spooling_task, "LONGEST_SECONDS", 60.0)
    monkeypatch.setattr(spooling_task, "PAUSE_SECONDS", 60.0)
    store, sealed = DirectoryStore(tmp_path / "spool"), list[Segment]()
    store.lock(0)
    access = SpoolAccess(store, 1, 1, lambda asked: [None] * len(asked), sealed.append, lambda seconds: True)
    plan = acting_plan(tmp_path, last="200", step="5")
    columns = SparkBatches(SCHEMA)
    task = SpoolingTask(plan, columns, access, most_rows=None, idle=Idle(30), ends_when_empty=True)
    task.execute()
    assert len(sealed) > 3
    assert max(each.size for each in sealed) < 5000
    batches = chain.from_iterable(batches_of(store, each.name, columns.schema) for each in sealed)
    assert [row["value"]["id"] for batch in batches for row in batch.to_pylist()] == list(range(1, 201))
