"""Parses the texts of many headers as `parse_string` parses each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.batch_plugin import ColumnRun, HeaderColumns
from hearth_api.batch.header_list import header_columns
from hearth_api.java.schema_json import schema_to_text
from hearth_api.java.values import parse_strings
from hearth_api.logical import Date, Timestamp
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)

try:
    from hearth_api.batch.header_loop import ROOM, read_texts
except ImportError:  # not compiled, see hatch_build
    read_texts = None  # type: ignore[assignment]

_KINDS = (
    STRING_SCHEMA, INT8_SCHEMA, INT16_SCHEMA, INT32_SCHEMA, INT64_SCHEMA,
    FLOAT32_SCHEMA, Date.SCHEMA, Timestamp.SCHEMA, BOOLEAN_SCHEMA,
)  # fmt: skip
"""The schemas that the loop recognises, by its numbers, which start with 1."""
_NULL = len(_KINDS) + 1
"""The loop's number of a null, which has no schema."""
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
    kinds, shapes = np.empty(count, np.uint8), np.empty((2, 256), np.uint8)
    ends, content = pa.allocate_buffer(4 * (count + 1)), pa.allocate_buffer(room)
    _, offsets, data = texts.buffers()
    begin = 0 if data is None else data.address
    is_utc = time.tzname == ("UTC", "UTC")  # Java reads timestamps in the machine's time zone
    size = read_texts(
        begin,
        offsets.address + 4 * offset,
        count,
        content.address,
        ends.address,
        kinds.ctypes.data,
        shapes.ctypes.data,
        is_utc,
    )
    if texts.null_count:
        kinds[texts.is_null().to_numpy(zero_copy_only=False)] = _NULL
    if (kinds == 1).all():
        return ColumnRun(STRING_SCHEMA, texts)
    present = kinds != _NULL
    validity = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
    values = pa.Array.from_buffers(pa.string(), count, [validity, ends, content.slice(0, size)])
    schemas = pa.array(_schema_texts(*shapes[:, : kinds.max() + 1].tolist()), pa.string()).take(pa.array(kinds))
    (unparsed,) = np.nonzero(kinds == 0)
    if len(unparsed) == 0:
        return HeaderColumns(schemas, values)
    rest = _distinct_parsed(texts.take(pa.array(unparsed)))
    places = np.arange(count)
    places[unparsed] = np.arange(count, count + len(unparsed))
    order = pa.array(places)
    own = zip((schemas, values), rest)
    return HeaderColumns(*[pa.concat_arrays(pair).take(order) for pair in own])


def _distinct_parsed(texts: Any) -> Any:
    """Return the schema and value columns of texts, each different one parsed once."""
    encoded = texts.dictionary_encode("encode")
    columns = header_columns(*parse_strings(encoded.dictionary.to_pylist()))
    return [column.take(encoded.indices) for column in columns]


def _schema_texts(are_maps: Sequence[int], items: Sequence[int]) -> list[str | None]:
    """Return the schema of each number, which the loop describes for arrays and maps."""
    schemas: list[Schema | None] = [None, *_KINDS, None]
    for number in range(len(schemas), len(items)):
        schemas.append(_container(bool(are_maps[number]), schemas[items[number]]))
    return [None if schema is None else schema_to_text(schema) for schema in schemas]


@lru_cache(maxsize=1000)
def _container(is_map: bool, items: Schema | None) -> Schema:
    if is_map:
        return Schema(Type.MAP, key_schema=STRING_SCHEMA, value_schema=items)
    return Schema(Type.ARRAY, value_schema=items)


def parse_one_by_one(texts: Any) -> ColumnRun | HeaderColumns:
    """Parse each different text by itself."""
    found = HeaderColumns(*_distinct_parsed(texts))
    are_strings = {schema_to_text(STRING_SCHEMA)}.issuperset(found.schemas.unique().to_pylist())
    return ColumnRun(STRING_SCHEMA, texts) if are_strings else found


PARSE = parse_one_by_one if read_texts is None else parse_by_loop
