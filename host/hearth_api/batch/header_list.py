"""Converts headers of many records to one column of lists.

The headers of all rows are concatenated in three columns: names, schemas (as JSON text, null = none) and values as
texts. A value with a STRING schema is stored as it is; any other value as the JSON text of its physical form. There
are few distinct names and schemas, so each is parsed once, and values of one schema are converted together.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain
from math import isfinite
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import are_all, values_to_column
from hearth_api.batch.plain_value import is_plain
from hearth_api.batch.wire import plain_texts, value_to_json
from hearth_api.errors import DataError
from hearth_api.header import Headers, alike_headers, flat_rows
from hearth_api.java.physical import to_physical
from hearth_api.java.schema_json import schema_to_text
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.schema import Schema, Type
from hearth_api.struct import Struct
from hearth_api.validation import validate_value

_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
MOMENTS: dict[str | None, tuple[Any, type]] = {
    kind.LOGICAL_NAME: (kind, own) for kind, own in ((Date, dt.date), (Time, dt.time), (Timestamp, dt.datetime))
}


def headers_to_column(headers: Sequence[Headers | None]) -> Any:
    """Return the headers of several records as a column; a value that does not fit its schema raises a DataError."""
    if (alike := alike_headers(headers)) is not None:
        return _of_alike(len(headers), *alike)
    rows = flat_rows(headers)
    flat = list(chain.from_iterable(rows))
    schemas, values = header_columns(flat[1::3], flat[2::3])
    ends = pa.array([0, *accumulate(len(row) // 3 for row in rows)], pa.int32())
    return header_lists(ends, pa.array(flat[::3], pa.string()), schemas, values)


def _of_alike(count: int, first: Sequence[Any], values: list[Any]) -> Any:
    """Return the headers of rows that differ only in their values; `first` is the first row, `values` are all rows'.

    The columns of names and ends are cached for rows of the same shape.
    """
    names, schemas, width = first[::3], first[1::3], len(first) // 3
    if schemas.count(schemas[0]) == width:
        kinds, texts = schema_texts(schemas[0], len(values)), header_texts(schemas[0], values)
    else:
        written: list[Any] = [None] * len(values)
        for place, schema in enumerate(schemas):
            written[place::width] = header_texts(schema, values[place::width]).to_pylist()
        kinds, texts = pa.array([*map(schema_to_text, schemas)] * count, pa.string()), pa.array(written, pa.string())
    rounded = 1 << count.bit_length()
    ends, repeated = _ends(width, rounded).slice(0, count + 1), _repeated(rounded, *names).slice(0, len(values))
    return header_lists(ends, repeated, kinds, texts)


@lru_cache(maxsize=4)
def _ends(width: int, count: int) -> Any:
    """Return the offsets of rows that have equally many headers each, starting with 0."""
    return pa.array(range(0, width * count + 1, width) if width else [0] * (count + 1), pa.int32())


@lru_cache(maxsize=4)
def _repeated(count: int, *names: str) -> Any:
    """Return names repeated a number of times."""
    return pa.array(names * count, pa.string())


def header_lists(ends: Any, names: Any, schemas: Any, values: Any) -> Any:
    """Return the headers column of these parts; `ends` holds the offsets of rows, starting with 0."""
    entries = pa.StructArray.from_arrays([names, schemas, values], names=["key", "schema", "value"])
    return pa.ListArray.from_arrays(ends, entries)


def schema_texts(schema: Schema | None, count: int) -> Any:
    """Return a column with the text of one schema, repeated."""
    return pa.repeat(pa.scalar(None if schema is None else schema_to_text(schema), pa.string()), count)


def header_columns(schemas: Sequence[Schema | None], values: Sequence[Any]) -> tuple[Any, Any]:
    """Return the schema and value columns of headers; a value that does not fit its schema raises a DataError.

    There are few schemas, and equal ones are nearly always the same object.
    """
    numbered = [*map(id, schemas)]
    distinct = dict(zip(numbered, schemas))
    if id(None) in distinct:
        own = [
            value.schema if schema is None and isinstance(value, Struct) else schema
            for schema, value in zip(schemas, values)
        ]
        numbered = [*map(id, own)]
        distinct = dict(zip(numbered, own))
    if len(distinct) == 1:
        (schema,) = distinct.values()
        return schema_texts(schema, len(values)), header_texts(schema, values)
    known = dict(zip(distinct, range(len(distinct))))
    codes = [*map(known.__getitem__, numbered)]
    groups = grouped(codes, len(known), values)
    names = pa.array([None if kind is None else schema_to_text(kind) for kind in distinct.values()], pa.string())
    texts = ungrouped(codes, [*map(_texts, distinct.values(), groups)])
    try:
        return names.take(pa.array(codes, pa.int32())), pa.array(texts, pa.string())
    except UnicodeEncodeError:
        for kind, group in zip(distinct.values(), groups):
            header_texts(kind, group)  # says so as of any column
        raise


def header_texts(schema: Schema | None, values: Sequence[Any]) -> Any:
    """Return values of one schema as texts of a headers column."""
    if schema is not None and schema.type is Type.STRING:
        return values_to_column(schema, values)
    return pa.array(_texts(schema, values), pa.string())


def header_text(schema: Schema | None, value: Any) -> str | None:
    """Return one value as a text of a headers column; one that does not fit its schema raises a DataError."""
    if value is None:
        return None
    if schema is not None and schema.type is Type.STRING:
        validate_value(schema, value)
        return str(value)
    return value_to_json(schema, value)


def _texts(schema: Schema | None, values: Sequence[Any]) -> Sequence[str | None]:
    """Return the texts of values of one schema; those of plain types are written without checking each."""
    kind = None if schema is None else schema._kind
    if values and schema is not None and kind is not None and are_all(kind, values):
        if kind is str:
            return values
        if kind is int and schema._least <= min(values) and max(values) <= schema._most:
            return [*map(str, values)]
        if kind is bool:
            return ["true" if value else "false" for value in values]
        if kind is float and all(map(isfinite, values)):
            return [*map(repr, values)]
    logical = None if schema is None else MOMENTS.get(schema.name)
    if logical is not None and are_all(logical[1], values):
        try:
            return [str(logical[0].from_logical(schema, value)) for value in values]
        except DataError:
            pass  # the code below reports which value, and why
    if schema is None or schema.type is Type.ARRAY or schema.type is Type.MAP:
        physical = [
            value if schema is None or is_plain(schema, value) else to_physical(schema, value) for value in values
        ]
        return [None if value is None else text for value, text in zip(values, plain_texts(physical))]
    return [header_text(schema, value) for value in values]


def grouped(codes: Sequence[int], count: int, items: Sequence[Any]) -> list[list[Any]]:
    """Return items grouped by their codes."""
    if count == 1:
        return [[*items]]
    groups: list[list[Any]] = [[] for _ in range(count)]
    for code, item in zip(codes, items):
        groups[code].append(item)
    return groups


def ungrouped(codes: Sequence[int], groups: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return the items of groups in the order of the codes."""
    if len(groups) == 1:
        return groups[0]
    return [*map(next, map([*map(iter, groups)].__getitem__, codes))]


def repeats(column: Any, width: int) -> bool:
    """Return whether the first `width` values of a column repeat throughout, as names usually do."""
    return bool(column.slice(width).equals(column.slice(0, len(column) - width)))
