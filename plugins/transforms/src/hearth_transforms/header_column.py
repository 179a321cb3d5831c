"""Adds and removes headers in header columns, which are lists of names, schemas and values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Header, Headers, Schema, Type
from hearth_api.batch import column_to_values, header_texts, headers_to_column, schema_texts

_NAMES = ["key", "schema", "value"]
_FLOATS = (Type.FLOAT32, Type.FLOAT64)  # to which 0.0 and -0.0 are the same


def without(column: Any, names: Collection[str]) -> Any:
    """Return the column without the named headers, None if no header is left."""
    entries = column.flatten()
    is_kept = pc.invert(pc.is_in(entries.field("key"), pa.array(sorted(names), pa.string())))
    if not is_kept.true_count:
        return None
    rows = pc.list_parent_indices(column).filter(is_kept)
    return _listed(rows, entries.filter(is_kept), len(column))


def fixed(header: Header, count: int) -> Any:
    """Return the same header for `count` rows."""
    entry = headers_to_column([Headers([header])]).flatten()
    return pa.StructArray.from_arrays([pa.repeat(entry.field(name)[0], count) for name in _NAMES], _NAMES)


def of_values(key: str, schema: Schema, column: Any) -> Any:
    """Return a header for each value of a column; strings are copied, equal other values are encoded once."""
    if schema.type is Type.STRING:
        texts = column
    elif schema.type.is_primitive and schema.type not in _FLOATS:
        encoded = column.dictionary_encode()
        texts = _texts(schema, encoded.dictionary).take(encoded.indices)
    else:
        texts = _texts(schema, column)
    count = len(column)
    parts = [pa.repeat(pa.scalar(key, pa.string()), count), schema_texts(schema, count), texts]
    return pa.StructArray.from_arrays(parts, _NAMES)


def plain(key: str, texts: Any) -> Any:
    """Return a header without schema for each value of a column without schema."""
    count = len(texts)
    parts = [pa.repeat(pa.scalar(key, pa.string()), count), schema_texts(None, count), texts]
    return pa.StructArray.from_arrays(parts, _NAMES)


def appended(column: Any, added: Sequence[Any], count: int) -> Any:
    """Append headers to each row of the column; each header is given for every row."""
    present = [] if column is None else [column.flatten()]
    rows = [] if column is None else [pc.list_parent_indices(column).to_numpy()]
    if len(added) == 1 and not (present and len(present[0])):
        return pa.ListArray.from_arrays(pa.array(np.arange(count + 1, dtype=np.int32)), added[0])
    every_row = np.concatenate([*rows, *[np.arange(count)] * len(added)])
    order = np.argsort(every_row, kind="stable")
    return _listed(every_row, pa.concat_arrays([*present, *added]).take(pa.array(order)), count)


def _texts(schema: Schema, column: Any) -> Any:
    return header_texts(schema, column_to_values(schema, column))


def _listed(rows: Any, entries: Any, count: int) -> Any:
    """Group the entries as lists; `rows` has the list index of each entry."""
    ends = np.zeros(count + 1, np.int32)
    np.cumsum(np.bincount(np.asarray(rows), minlength=count), out=ends[1:])
    return pa.ListArray.from_arrays(pa.array(ends), entries)
