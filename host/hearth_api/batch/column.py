"""Converts the values of many records to an Arrow array and back.

Columns hold the physical form of values. A schemaless column holds the plain JSON text of every value. A column of
recursive structs, or of a schema with more levels than Arrow supports over IPC, holds the JSON text of their physical
form.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain, pairwise, repeat
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.wire import plain_from_json, plain_to_json, value_from_json, value_to_json
from hearth_api.errors import DataError
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.schema import Schema, Type
from hearth_api.schema_reference import is_text
from hearth_api.struct import Struct, rows_of, schemas_of, structs
from hearth_api.validation import is_logical, validate_value

try:
    from hearth_api.batch.struct_column import struct_column
except ImportError:  # not compiled, see hatch_build
    struct_column = None  # type: ignore[assignment]

_LOGICAL: dict[str | None, Any] = {kind.LOGICAL_NAME: kind for kind in (Date, Decimal, Time, Timestamp)}
_ARROW_NAME = {type_: type_.value for type_ in Type} | {
    Type.FLOAT32: "float32", Type.FLOAT64: "float64", Type.BOOLEAN: "bool_", Type.BYTES: "binary",
}  # fmt: skip
_NULL = type(None)
_EXACT_TYPE: dict[Type, type] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), int),
    Type.FLOAT32: float, Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str, Type.BYTES: bytes,
}  # fmt: skip
# Format letters of memoryview: reading numbers from Arrow's memory is ten times faster than to_pylist.
_LETTER = {
    Type.INT8: "b", Type.INT16: "h", Type.INT32: "i", Type.INT64: "q", Type.FLOAT32: "f", Type.FLOAT64: "d",
    Type.BOOLEAN: "?",
}  # fmt: skip
_LAID_OUT = _LETTER | {Type.STRING: "u", Type.BYTES: "y"}
del _LAID_OUT[Type.FLOAT32]
_PACKED = {type_: _LETTER[type_] for type_ in (Type.INT8, Type.INT16, Type.INT32, Type.INT64, Type.FLOAT64)}


@lru_cache(maxsize=1000)
def arrow_type(schema: Schema | None) -> Any:
    """Return the Arrow type of a column with values of the schema."""
    if schema is None or is_text(schema):
        return pa.string()
    if schema.type is Type.ARRAY:
        return pa.list_(arrow_type(schema.value_schema))
    if schema.type is Type.MAP:
        return pa.map_(arrow_type(schema.key_schema), arrow_type(schema.value_schema))
    if schema.type is Type.STRUCT:
        return pa.struct([pa.field(field.name, arrow_type(field.schema)) for field in schema.fields])
    return getattr(pa, _ARROW_NAME[schema.type])()


def values_to_column(schema: Schema | None, values: Sequence[Any]) -> Any:
    """Return the values as an Arrow array; one that does not fit the schema raises a DataError.

    None becomes null even if the schema forbids it: the converter decides how to handle it.
    """
    if schema is None:
        return pa.array([None if value is None else plain_to_json(value) for value in values], pa.string())
    if is_text(schema):
        return pa.array([None if value is None else value_to_json(schema, value) for value in values], pa.string())
    if schema.type is Type.STRUCT:
        return _struct_column(schema, values)
    if schema.type is Type.ARRAY or schema.type is Type.MAP:
        return _list_column(schema, values)
    if is_logical(schema):
        values = _logical_values(schema, values)
    elif not are_all(kind := _EXACT_TYPE[schema.type], values) and not {kind, _NULL}.issuperset(map(type, values)):
        values = _checked(schema, values)
    return _plain_column(schema, values)


def fill_nulls(schema: Schema | None, column: Any, value: Any) -> Any:
    """Return a column with a value in place of its nulls; the schema is that of value and column."""
    if not column.null_count:
        return column
    rows = pa.array(range(len(column)), pa.int64())
    places = pa.compute.if_else(column.is_valid(), rows, len(column))
    return pa.concat_arrays([column, values_to_column(schema, [value])]).take(places)


def column_to_values(schema: Schema | None, column: Any) -> list[Any]:
    """Return the values of an Arrow array as Python values of the record API."""
    if schema is None:
        return [None if text is None else plain_from_json(text) for text in _texts(column)]
    if is_text(schema):
        return [None if text is None else value_from_json(schema, text) for text in _texts(column)]
    if schema.type is Type.STRUCT:
        return _struct_values(schema, column)
    if schema.type is Type.ARRAY or schema.type is Type.MAP:
        return _list_values(schema, column)
    values = _primitive_values(schema.type, column)
    if is_logical(schema):
        to_logical = _LOGICAL[schema.name].to_logical
        return [None if value is None else to_logical(schema, value) for value in values]
    return values


def are_all(kind: type, values: Sequence[Any]) -> bool:
    """Return whether values are all of one exact type, without subclasses; `list.count` is faster than a set."""
    return list(map(type, values)).count(kind) == len(values)


def packed(schema: Schema, values: Sequence[Any]) -> Any:
    """Return numbers of the schema's type as a column; None for anything else, including nulls.

    Arrow's own conversion checks the type of each number, which takes longer than copying all of them.
    """
    letter = _PACKED.get(schema.type)
    if letter is None:
        return None
    try:
        memory = pa.py_buffer(struct.pack(f"={len(values)}{letter}", *values))
    except struct.error:
        return None
    return pa.Array.from_buffers(arrow_type(schema), len(values), [None, memory], 0)


def _plain_column(schema: Schema, values: Sequence[Any]) -> Any:
    """Return values of a primitive type, in physical form, as an Arrow array."""
    if (column := packed(schema, values)) is not None:
        return column
    try:
        return pa.array(values, arrow_type(schema))
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        _checked(schema, values)
        raise DataError(f"values of type {schema.type} cannot be kept in a column: {error}") from error


def _field_column(schema: Schema, values: Sequence[Any]) -> Any:
    """Return the values of a field, which a struct checked when they were put; containers may have changed since."""
    is_plain = schema.type.is_primitive and not is_logical(schema)
    return _plain_column(schema, values) if is_plain else values_to_column(schema, values)


def _checked(schema: Schema, values: Sequence[Any]) -> list[Any]:
    kind = _EXACT_TYPE[schema.type]
    for value in values:
        if value is not None:
            validate_value(schema, value)
    return [None if value is None else kind(value) for value in values]


def _logical_values(schema: Schema, values: Sequence[Any]) -> list[Any]:
    from_logical = _LOGICAL[schema.name].from_logical
    physical = []
    for value in values:
        if value is not None:
            validate_value(schema, value)
        physical.append(None if value is None else from_logical(schema, value))
    return physical


def _struct_column(schema: Schema, values: Sequence[Any]) -> Any:
    fields = schema.fields
    absent = [value is None for value in values]
    has_absent = True in absent
    _check_structs(schema, [value for value in values if value is not None] if has_absent else values)
    if not fields:
        return pa.array([None if value is None else {} for value in values], arrow_type(schema))
    rows = rows_of(values, (None,) * len(fields))
    if (column := LAY_OUT(schema, rows, absent if has_absent else None)) is not None:
        return column
    columns: Iterable[Sequence[Any]] = zip(*rows) if rows else repeat(())
    arrays = [_field_column(field.schema, column) for field, column in zip(fields, columns)]
    mask = pa.array(absent, pa.bool_()) if has_absent else None
    return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema)), mask=mask)


def lay_out_by_loop(schema: Schema, rows: list[Any], absent: list[bool] | None) -> Any:
    """Return struct values as a column built by a compiled loop; None if it does not support a value.

    Building the columns of fields one by one takes ten times as long for few rows.
    """
    kinds = _kinds(schema)
    try:
        others = [
            values_to_column(field.schema, [row[field.index] for row in rows])
            for field, kind in zip(schema.fields, kinds)
            if kind is None
        ]
    except (DataError, RecursionError, IndexError):  # the slower path reports what is wrong
        return None
    return struct_column(rows, absent, kinds, others, pa.Array._import_from_c, arrow_type(schema))


@lru_cache(maxsize=1000)
def _kinds(schema: Schema) -> list[str | None]:
    fields = [field.schema for field in schema.fields]
    return [None if is_logical(own) else _LAID_OUT.get(own.type) for own in fields]


def lay_out_nothing(schema: Schema, rows: list[Any], absent: list[bool] | None) -> Any:
    """Support no values: the fallback without compiled code."""
    return None


LAY_OUT = lay_out_nothing if struct_column is None else lay_out_by_loop


def _check_structs(schema: Schema, values: Sequence[Any]) -> None:
    """Raise a DataError for a value that is not a struct of the schema, which is usually the same object."""
    if not are_all(Struct, values):
        for value in values:
            validate_value(schema, value)
    if schemas_of(values).count(schema) != len(values):
        raise DataError("Mismatching schema.")


@lru_cache(maxsize=1000)
def _always_fits(schema: Schema) -> bool:
    """Return whether values of a struct of the schema can neither change nor fail to become a column."""
    if schema.type is not Type.STRUCT or is_text(schema):
        return schema.type.is_primitive and not is_logical(schema)
    return all(_always_fits(field.schema) for field in schema.fields)


def fit_surely(schema: Schema | None, values: Sequence[Any]) -> bool:
    """Return whether values are structs that fit their schema by construction; others may fit as well."""
    if schema is None or schema.type is not Type.STRUCT or not _always_fits(schema):
        return False
    return are_all(Struct, values) and schemas_of(values).count(schema) == len(values)


def _list_column(schema: Schema, values: Sequence[Any]) -> Any:
    is_map = schema.type is Type.MAP
    expected = (dict,) if is_map else (list, tuple)
    for value in values:
        if value is not None and not isinstance(value, expected):
            validate_value(schema, value)
    offsets: list[int | None] = []
    end = 0
    for value in values:
        # A null offset makes a null list.
        offsets.append(None if value is None else end)
        end += 0 if value is None else len(value)
    offsets.append(end)
    starts = pa.array(offsets, pa.int32())
    present = [value for value in values if value is not None]
    if not is_map:
        inner = values_to_column(schema.value_schema, list(chain.from_iterable(present)))
        return pa.ListArray.from_arrays(starts, inner).cast(arrow_type(schema))
    return _map_column(schema, starts, present)


def _map_column(schema: Schema, starts: Any, present: Sequence[dict[Any, Any]]) -> Any:
    if any(None in value for value in present):
        raise DataError("a map of a record may not have a null key")
    keys = values_to_column(schema.key_schema, list(chain.from_iterable(present)))
    items = values_to_column(schema.value_schema, [item for value in present for item in value.values()])
    return pa.MapArray.from_arrays(starts, keys, items).cast(arrow_type(schema))


def _struct_values(schema: Schema, column: Any) -> list[Any]:
    if not schema.fields:
        return [Struct.unchecked(schema, ()) if valid else None for valid in _valid(column)]
    children = [column_to_values(field.schema, column.field(field.index)) for field in schema.fields]
    return _with_nulls(column, structs(schema, zip(*children, strict=True)))


def _list_values(schema: Schema, column: Any) -> list[Any]:
    if len(column) == 0:
        return []
    ends = numbers("i", column.offsets)
    first = ends[0]
    if schema.type is Type.ARRAY:
        inner = column_to_values(schema.value_schema, column.values.slice(first, ends[-1] - first))
        build: Callable[[list[Any]], Any] | None = None
    else:
        keys = column_to_values(schema.key_schema, column.keys.slice(first, ends[-1] - first))
        items = column_to_values(schema.value_schema, column.items.slice(first, ends[-1] - first))
        inner, build = list(zip(keys, items, strict=False)), dict
    spans = pairwise(ends)
    lists: list[Any] = [inner[start - first : end - first] for start, end in spans]
    return _with_nulls(column, lists if build is None else list(map(build, lists)))


def _primitive_values(type_: Type, column: Any) -> list[Any]:
    if type_ is Type.STRING:
        return _texts(column)
    letter = _LETTER.get(type_)
    if letter is None or len(column) == 0:
        values: list[Any] = column.to_pylist()
        return values
    return _with_nulls(column, numbers(letter, column.cast("uint8") if type_ is Type.BOOLEAN else column))


def numbers(letter: Any, column: Any) -> list[Any]:
    """Return the numbers of a column without nulls; `letter` is their type as a `struct` format."""
    if len(column) == 0:
        return []
    memory = memoryview(column.buffers()[1])
    width = struct.calcsize(letter)
    start = column.offset * width
    return memory[start : start + len(column) * width].cast("B").cast(letter).tolist()


def _texts(column: Any) -> list[str | None]:
    texts: list[str | None] = column.to_pylist()
    return texts


def _valid(column: Any) -> list[bool]:
    if column.null_count == 0:
        return [True] * len(column)
    return numbers("?", column.is_valid().cast("uint8"))


def _with_nulls(column: Any, values: list[Any]) -> list[Any]:
    if column.null_count == 0:
        return values
    return [value if valid else None for value, valid in zip(values, _valid(column), strict=True)]
