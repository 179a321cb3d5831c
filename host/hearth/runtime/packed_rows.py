"""Serializes packed records of a source row by row, each with the writer of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.outgoing import Outgoing
from hearth_api.batch import PackedRecords
from hearth_api.layout import packed_texts


def written(
    packed: PackedRecords, keys: Sequence[Any], values: Sequence[Any], partition: Any, timestamp: Any
) -> tuple[Outgoing, Any] | None:
    """Return rows for all topics, with their numbers; None if a key or value cannot be written.

    ``keys`` and ``values`` hold each kind's writers, from the converters. ``partition`` and ``timestamp`` are columns
    for ``Outgoing``, in record order.
    """
    topics: dict[str | None, int] = {}
    topic_of = np.array([topics.setdefault(kind.topic, len(topics)) for kind in packed.kinds])
    codes = topic_of[packed.codes]
    rows = np.argsort(codes, kind="stable")  # as 64 bits
    value = _texts(packed, "value", values, rows)
    key = _texts(packed, "key", keys, rows)
    if value is None or key is None:
        return None
    partition, timestamp = (None if column is None else column[rows] for column in (partition, timestamp))
    ends = np.cumsum(np.bincount(codes)).tolist()
    spans = [(str(topic), start, end) for topic, start, end in zip(topics, [0, *ends], ends) if end > start]
    key = None if key.null_count == len(key) else key
    return Outgoing("", value, key, partition, timestamp, spans=spans), rows


def _texts(packed: PackedRecords, side: str, writers: Sequence[Any], order: Any) -> Any:
    column = packed.column(side)
    column = pa.nulls(packed.num_rows, pa.binary()) if column is None else column
    if (found := packed_texts([*writers], packed.codes, order, column)) is None:
        return None
    content, ends, valid = (None if part is None else pa.py_buffer(part) for part in found)
    return pa.Array.from_buffers(pa.binary(), packed.num_rows, [valid, ends, content])
