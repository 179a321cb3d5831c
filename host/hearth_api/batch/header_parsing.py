"""Parses the texts of many headers as `parse_string` parses each."""

from __future__ import annotations

from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.batch_plugin import ColumnRun, HeaderColumns
from hearth_api.batch.header_list import header_columns
from hearth_api.java.schema_json import schema_to_text
from hearth_api.java.values import parse_strings
from hearth_api.logical import Date
from hearth_api.schema import FLOAT32_SCHEMA, INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, STRING_SCHEMA

try:
    from hearth_api.batch.header_loop import ROOM, read_texts
except ImportError:  # not compiled, see hatch_build
    read_texts = None  # type: ignore[assignment]

_KINDS = (STRING_SCHEMA, INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA, FLOAT32_SCHEMA, Date.SCHEMA)
"""The schemas that the loop recognises, by its numbers, which start with 1."""
_BEHIND = 1 << 31
"""A position after every text that a column can hold."""


def parse_headers(texts: Any) -> ColumnRun | HeaderColumns:
    """Return the values of a column's texts as `parse_string` returns them: one run if all are strings.

    Raises what it raises, and a DataError for a value that does not fit its schema.
    """
    return PARSE(texts)


def parse_by_loop(texts: Any) -> ColumnRun | HeaderColumns:
    """Parse with the compiled loop, and one by one the texts it does not recognise."""
    import numpy as np

    count, offset = len(texts), texts.offset
    room = texts.nbytes + ROOM * count
    if not 0 < count <= room < _BEHIND:
        return parse_one_by_one(texts)
    kinds, ends, content = np.empty(count, np.uint8), pa.allocate_buffer(4 * (count + 1)), pa.allocate_buffer(room)
    _, offsets, data = texts.buffers()
    begin = 0 if data is None else data.address
    size = read_texts(begin, offsets.address + 4 * offset, count, content.address, ends.address, kinds.ctypes.data)
    if texts.null_count:
        kinds[texts.is_null().to_numpy(zero_copy_only=False)] = 0
    if (kinds == 1).all():
        return ColumnRun(STRING_SCHEMA, texts)
    values = pa.Array.from_buffers(pa.string(), count, [None, ends, content.slice(0, size)], 0)
    schemas = pa.array([None, *map(schema_to_text, _KINDS)], pa.string()).take(pa.array(kinds))
    (untold,) = np.nonzero(kinds == 0)
    if len(untold) == 0:
        return HeaderColumns(schemas, values)
    rest = header_columns(*parse_strings(texts.take(pa.array(untold)).to_pylist()))
    places = np.arange(count)
    places[untold] = np.arange(count, count + len(untold))
    order = pa.array(places)
    own = zip((schemas, values), rest)
    return HeaderColumns(*[pa.concat_arrays(pair).take(order) for pair in own])


def parse_one_by_one(texts: Any) -> ColumnRun | HeaderColumns:
    """Parse each text by itself."""
    schemas, values = parse_strings(texts.to_pylist())
    if {id(STRING_SCHEMA)}.issuperset(map(id, schemas)):
        return ColumnRun(STRING_SCHEMA, texts)
    return HeaderColumns(*header_columns(schemas, values))


PARSE = parse_one_by_one if read_texts is None else parse_by_loop
