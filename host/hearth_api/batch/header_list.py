"""Converts headers of many records to one column of lists and back.

The headers of all rows are concatenated in three columns: names, schemas (as JSON text, null = none) and values as
texts. A value with a STRING schema is stored as it is; any other value as the JSON text of its physical form. There
are few distinct names and schemas, so each is parsed once, and values of one schema are converted together.
"""

from __future__ import annotations

import datetime as dt
from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain, islice
from math import isfinite
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import are_all, numbers, values_to_column
from hearth_api.batch.plain_value import is_plain
from hearth_api.batch.wire import plain_texts, plain_values, strict_json, value_to_json
from hearth_api.errors import DataError
from hearth_api.header import Header, Headers, alike_headers, flat_rows, headers_of_each, headers_of_values
from hearth_api.java.physical import from_physical, to_physical
from hearth_api.java.schema_json import schema_from_text, schema_to_text
from hearth_api.logical import Date, Time, Timestamp
from hearth_api.number import narrow
from hearth_api.schema import Schema, Type
from hearth_api.struct import Struct
from hearth_api.validation import validate_value

_NUMBERS = (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT32, Type.FLOAT64)
_MOMENTS: dict[str | None, tuple[Any, type]] = {
    kind.LOGICAL_NAME: (kind, own) for kind, own in ((Date, dt.date), (Time, dt.time), (Timestamp, dt.datetime))
}
_TRUTHS: dict[str | None, bool | None] = {"true": True, "false": False, None: None}
_OF_NUMBERS = "0123456789+-.eE,"


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


def column_to_headers(column: Any) -> list[Headers | None]:
    """Return the headers of several records from a column; None if a record has none.

    Headers of all records are built at once: building them on first access to each would cost twice as much.
    """
    entries = column.flatten()
    keys, schemas, values = (entries.field(name) for name in ("key", "schema", "value"))
    width = _width(column)
    if width and repeats(keys, width) and repeats(schemas, width):
        pairs = zip(keys.slice(0, width).to_pylist(), map(_schema, schemas.slice(0, width).to_pylist()))
        texts = values.to_pylist()
        columns = [_headers(key, schema, texts[place::width]) for place, (key, schema) in enumerate(pairs)]
        return [*headers_of_each(zip(*columns))]
    coded = schemas.dictionary_encode("encode")
    codes, kinds = numbers("i", coded.indices), [_schema(text) for text in coded.dictionary.to_pylist()]
    groups = _grouped(codes, len(kinds), values.to_pylist())
    found = _ungrouped(codes, [_values(kind, group) for kind, group in zip(kinds, groups)])
    made = map(Header, _decoded(keys), map(kinds.__getitem__, codes), found)
    if width:
        return [*headers_of_each(zip(*[made] * width))]
    counts = numbers("i", pa.compute.fill_null(pa.compute.list_value_length(column), 0))
    rows = headers_of_each([tuple(islice(made, count)) for count in counts])
    return [own if count else None for count, own in zip(counts, rows)]


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
    groups = _grouped(codes, len(known), values)
    names = pa.array([None if kind is None else schema_to_text(kind) for kind in distinct.values()], pa.string())
    texts = _ungrouped(codes, [*map(_texts, distinct.values(), groups)])
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


def header_values(schema: Schema | None, texts: Any) -> list[Any]:
    """Return the values of texts made by `header_texts`."""
    return _values(schema, texts.to_pylist())


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
    logical = None if schema is None else _MOMENTS.get(schema.name)
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


def _values(schema: Schema | None, texts: list[str | None]) -> list[Any]:
    """Return the values of texts of one schema."""
    if schema is None:
        return _plain_values(texts)
    if schema.type is Type.STRING:
        return texts
    if schema._kind is bool and _TRUTHS.keys() >= set(texts):
        return [*map(_TRUTHS.__getitem__, texts)]
    if schema.type in _NUMBERS:
        present = [text for text in texts if text is not None] if None in texts else texts
        if (numbers := _numbers(schema, present)) is not None:
            each = iter(numbers)
            return numbers if present is texts else [None if text is None else next(each) for text in texts]
    found = [value if is_plain(schema, value) else from_physical(schema, value) for value in _plain_values(texts)]
    is_narrow = schema.type is Type.FLOAT32
    return [value if value is None else narrow(value) for value in found] if is_narrow else found


def _plain_values(texts: list[str | None]) -> list[Any]:
    return plain_values(["null" if text is None else text for text in texts])


def _numbers(schema: Schema, texts: list[Any]) -> list[Any] | None:
    """Return the numbers of JSON texts, or the moments they stand for; None if one of them is not a number.

    The number of a FLOAT32 is the 32-bit float nearest to the 64-bit float that its text denotes.
    """
    if schema._kind is int:
        return [*map(int, texts)]
    joined = ",".join(texts)
    if joined.strip(_OF_NUMBERS):
        return None
    try:
        found: list[Any] = strict_json(f"[{joined}]")
    except ValueError:
        return None
    if len(found) != len(texts):
        return None
    if schema.type is Type.FLOAT32:
        return array("f", found).tolist()
    if schema.name in _MOMENTS:
        to_logical = _MOMENTS[schema.name][0].to_logical
        return [to_logical(schema, number) for number in found]
    return found


def _headers(key: str, schema: Schema | None, texts: list[str | None]) -> list[Header]:
    """Return headers of one name and schema; a text common to all makes one header, since headers are immutable."""
    is_text = schema is not None and schema.type is Type.STRING
    if is_text and texts.count(texts[0]) == len(texts):
        return [Header(key, schema, texts[0])] * len(texts)
    values = _values(schema, texts)
    return headers_of_values(key, schema, values)


def _schema(text: str | None) -> Schema | None:
    return None if text is None else schema_from_text(text)


def _decoded(column: Any) -> list[Any]:
    """Return the names of headers, of which few are distinct."""
    coded = column.dictionary_encode("encode")
    return [*map(coded.dictionary.to_pylist().__getitem__, numbers("i", coded.indices))]


def _grouped(codes: Sequence[int], count: int, items: Sequence[Any]) -> list[list[Any]]:
    """Return items grouped by their codes."""
    if count == 1:
        return [[*items]]
    groups: list[list[Any]] = [[] for _ in range(count)]
    for code, item in zip(codes, items):
        groups[code].append(item)
    return groups


def _ungrouped(codes: Sequence[int], groups: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return the items of groups in the order of the codes."""
    if len(groups) == 1:
        return groups[0]
    return [*map(next, map([*map(iter, groups)].__getitem__, codes))]


def repeats(column: Any, width: int) -> bool:
    """Return whether the first `width` values of a column repeat throughout, as names usually do."""
    return bool(column.slice(width).equals(column.slice(0, len(column) - width)))


def _width(column: Any) -> int:
    """Return the number of headers in each row of a column; 0 if rows differ or have none."""
    if len(column) == 0 or column.null_count:
        return 0
    ends = numbers("i", column.offsets)
    width = ends[1] - ends[0]
    return width if width and ends == [*range(ends[0], ends[-1] + 1, width)] else 0
