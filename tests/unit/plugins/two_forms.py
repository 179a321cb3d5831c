"""Plugins that have two forms, run as the runtime runs them: by batches where those are taken, else by records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hearth_api import DataError, Schema, SourceRecord
from hearth_api.batch import (
    Batch,
    BatchConverter,
    BatchPredicate,
    BatchTransformation,
    ColumnRun,
    PackedRecords,
    PartlyFailed,
    packed_by_kind,
)
from hearth_api.layout import packed_texts
from hearth_execution.converter import Converters
from hearth_execution.failure import Failure
from hearth_execution.plugins import Plugins
from hearth_execution.raw_header import HeaderRows
from hearth_execution.transformation import Outcome, Step, Transformations

ROLE = "value.converter"
"""The role every plugin has here, whatever it is."""


class Ready(Plugins):
    """One plugin that is configured already."""

    def __init__(self, plugin: Any, type_: str = "source") -> None:
        """Take the plugin."""
        super().__init__(type_)
        self._loaded[ROLE] = plugin
        self._class_names[ROLE] = type(plugin).__qualname__


def transformed(transformation: BatchTransformation, batch: Batch) -> Outcome:
    """Return what becomes of a numbered batch."""
    return Transformations(Ready(transformation, type_of(batch))).apply([Step(ROLE)], [batch])


def answered(predicate: BatchPredicate, batch: Batch) -> tuple[list[bool], list[Failure]]:
    """Return the answers for a numbered batch."""
    mask, failures = Transformations(Ready(predicate, type_of(batch))).test(ROLE, batch)
    return mask.to_pylist(), failures


def written(converter: BatchConverter, schema: Schema | None, column: Any) -> tuple[Any, list[Failure]]:
    """Return the bytes of a column of values."""
    return Converters(Ready(converter)).serialize(ROLE, "t", schema, column, np.arange(len(column)), HeaderRows())


def read(converter: BatchConverter, data: Any) -> tuple[list[ColumnRun], list[Failure]]:
    """Return the values of a column of bytes."""
    return Converters(Ready(converter)).deserialize(ROLE, "t", data, np.arange(len(data)), HeaderRows())


def read_whole(converter: BatchConverter, data: Any) -> list[ColumnRun]:
    """Return what the batch form reads from a column of bytes; raise its error for the first bad row."""
    found = converter.to_connect_batch("t", data)
    if isinstance(found, PartlyFailed):
        raise found.errors[min(found.errors)]
    return found


def messages(failures: list[Failure]) -> dict[int, str]:
    """Return by row what was wrong with it."""
    return {failure.row: failure.error.message for failure in failures}


def type_of(batch: Batch) -> str:
    """Return which kind of connector has such batches: those of a sink know their offset."""
    return "source" if batch.column("offset") is None else "sink"


def row_by_row(made: BatchConverter, schema: Schema, values: Sequence[Any]) -> list[bytes | None] | None:
    """Return what values are written as where they are packed; None where one of them is not written so."""
    records = [SourceRecord(None, None, "tu"[n % 2], value_schema=schema, value=each) for n, each in enumerate(values)]
    packed = packed_by_kind(records)
    if not isinstance(packed, PackedRecords):
        return None
    try:
        writers = [made.row_writer("t", kind.value_schema) for kind in packed.kinds]
    except DataError:
        return None
    if None in writers:
        return None
    found = packed_texts(writers, packed.codes, np.arange(len(records))[::-1].copy(), packed.column("value"))
    if found is None:
        return None
    content, ends, valid = (None if part is None else pa.py_buffer(part) for part in found)
    texts = pa.Array.from_buffers(pa.binary(), len(records), [valid, ends, content])
    texts.validate(full=True)
    return [*reversed(texts.to_pylist())]
