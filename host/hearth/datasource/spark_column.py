"""Converts columns of batches to columns of a DataFrame, sharing memory where the types are equal."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import VariantType, VariantVal

from hearth_api import ConnectError, Date, Decimal, Schema, Time, Timestamp, Type, is_logical
from hearth_api.batch import arrow_type, column_to_values, values_to_column
from hearth_api.java import schema_to_text

Convert = Callable[[Any], Any]
"""Converts a column in the physical form of its schema to an Arrow type of Spark."""
_DECIMAL_BYTES = 16
_NANOS_PER_MILLI = 1_000_000


class ColumnMismatch(ConnectError):
    """A column of records is incompatible with the DataFrame's: its place, its schema, and the expected type."""

    code = "datasource.type"
    hint = "give the read a .schema(...) with the type the records have, or option hearth.value json"

    def __str__(self) -> str:
        """Return a message with both types."""
        where, schema, target = self.args
        return f"{where} is {_named(schema)} in the records, and {target} in the DataFrame"


def _named(schema: Schema | None) -> str:
    return "JSON without a schema" if schema is None else schema_to_text(schema)


@lru_cache(maxsize=1000)
def converter(schema: Schema | None, target: Any, where: str) -> Convert:
    """Return the conversion of a column of a schema to the Arrow type that Spark expects; raises ColumnMismatch.

    Fields of structs are matched by name: additional fields of a record are dropped, missing ones are null.
    """
    if schema is None or is_logical(schema):
        return _plain(schema, target, where) if schema is None else _logical(schema, target, where)
    if schema.type is Type.STRUCT and pa.types.is_struct(target):
        return _struct(schema, target, where)
    if schema.type is Type.ARRAY and pa.types.is_list(target):
        inside = converter(schema.value_schema, target.value_type, f"{where}[]")
        return lambda column: _rebuilt(target, column, inside(column.values))
    if schema.type is Type.MAP and pa.types.is_map(target):
        return _map(schema, target, where)
    return _plain(schema, target, where)


def _plain(schema: Schema | None, target: Any, where: str) -> Convert:
    """Return the conversion that keeps a column or widens its numbers."""
    own = arrow_type(schema)
    if own == target:
        return lambda column: column
    if not _is_wider(own, target):
        raise ColumnMismatch(where, schema, target)
    return lambda column: column.cast(target)


def _is_wider(own: Any, target: Any) -> bool:
    kinds = pa.types
    if kinds.is_integer(own):
        is_number = kinds.is_integer(target) or kinds.is_floating(target)
        return bool(is_number and target.bit_width > own.bit_width)
    return bool(kinds.is_float32(own) and kinds.is_float64(target))


def _struct(schema: Schema, target: Any, where: str) -> Convert:
    own = {field.name: field for field in schema.fields}
    makers: list[tuple[int, Convert] | None] = []
    for wanted in target:
        field = own.get(wanted.name)
        inside = None if field is None else _field(field.schema, wanted.type, f"{where}.{wanted.name}")
        makers.append(None if field is None or inside is None else (field.index, inside))
    fields = list(target)
    if not fields:
        return lambda column: pa.array([None if not each else {} for each in column.is_valid().to_pylist()], target)

    def convert(column: Any) -> Any:
        count = len(column)
        children = [
            pa.nulls(count, wanted.type) if made is None else made[1](column.field(made[0]))
            for wanted, made in zip(fields, makers)
        ]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)

    return convert


def _field(schema: Schema, target: Any, where: str) -> Convert:
    """Return the conversion of a field: null in a required field with a default becomes the default.

    Null in an optional field stays null, so that a DataFrame distinguishes it from the default, as Java's
    ``Struct.getWithoutDefault`` does.
    """
    convert = converter(schema, target, where)
    if schema.optional or schema.default is None:
        return convert
    own = schema.default.schema if schema.type is Type.STRUCT else schema  # a default has no default of its own
    default = convert(values_to_column(own, [schema.default]))

    def filled(column: Any) -> Any:
        made = convert(column)
        if not made.null_count:
            return made
        rows = np.where(made.is_valid().to_numpy(zero_copy_only=False), np.arange(len(made)), len(made))
        return pa.concat_arrays([made, default]).take(pa.array(rows))

    return filled


def _map(schema: Schema, target: Any, where: str) -> Convert:
    keys = converter(schema.key_schema, target.key_type, f"{where} (keys)")
    items = converter(schema.value_schema, target.item_type, f"{where} (values)")
    fields = [target.key_field, target.item_field]

    def convert(column: Any) -> Any:
        inside = pa.StructArray.from_arrays([keys(column.keys), items(column.items)], fields=fields)
        return _rebuilt(target, column, inside)

    return convert


def _rebuilt(target: Any, column: Any, inside: Any) -> Any:
    """Return lists or maps with other contents and the same offsets."""
    return pa.Array.from_buffers(target, len(column), column.buffers()[:2], column.null_count, column.offset, [inside])


def _logical(schema: Schema, target: Any, where: str) -> Convert:
    kinds = pa.types
    if schema.name == Decimal.LOGICAL_NAME and kinds.is_decimal(target):
        scale = Decimal.scale(schema)
        if target.scale != scale:
            raise ColumnMismatch(where, schema, target)
        return lambda column: decimals(column, target)
    if schema.name == Decimal.LOGICAL_NAME and kinds.is_string(target):
        return lambda column: _printed(schema, column)
    if schema.name == Date.LOGICAL_NAME and kinds.is_date32(target):
        return lambda column: column.cast(target)
    if schema.name == Timestamp.LOGICAL_NAME and kinds.is_timestamp(target):
        return lambda column: instants(column, target)
    if schema.name == Time.LOGICAL_NAME and kinds.is_time64(target):
        return lambda column: pa.compute.multiply(column.cast(pa.int64()), _NANOS_PER_MILLI).cast(target)
    return _plain(schema, target, where)


def instants(column: Any, target: Any) -> Any:
    """Return milliseconds since 1970 as Spark's microseconds; raises if these do not fit into 64 bits."""
    return column.cast(pa.timestamp("ms", target.tz)).cast(target)


def decimals(column: Any, target: Any) -> Any:
    """Return unscaled big-endian numbers of any length as decimals of 128 bits.

    Raises ConnectError for a number with more digits than the type.
    """
    count = len(column)
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + count + 1].astype(np.int64)
    lengths = np.diff(ends)
    if column.null_count:
        lengths[~column.is_valid().to_numpy(zero_copy_only=False)] = 0
    if count and lengths.max() > _DECIMAL_BYTES:
        return _few_decimals(column, target)
    memory = column.buffers()[2]
    data = np.frombuffer(memory, np.uint8) if memory is not None and memory.size else np.zeros(1, np.uint8)
    has_bytes = np.flatnonzero(lengths)
    little = np.zeros((count, _DECIMAL_BYTES), np.uint8)
    little[has_bytes] = np.where(data[ends[:-1][has_bytes]] >= 0x80, 0xFF, 0)[:, None]
    for place in range(int(lengths.max()) if count else 0):
        rows = np.flatnonzero(lengths > place)
        little[rows, place] = data[ends[1:][rows] - 1 - place]
    bitmap = None
    if column.null_count:
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    found = pa.Array.from_buffers(target, count, [bitmap, pa.py_buffer(little)], column.null_count)
    try:
        found.validate(full=True)
    except pa.ArrowInvalid as error:
        raise _too_long(target) from error
    return found


def _few_decimals(column: Any, target: Any) -> Any:
    """Convert decimals one by one, if some have redundant leading bytes or too many digits."""
    unscaled = (None if each is None else int.from_bytes(each, "big", signed=True) for each in column.to_pylist())
    exact = decimal.Context(prec=1000)
    try:
        return pa.array([None if each is None else exact.scaleb(each, -target.scale) for each in unscaled], target)
    except (pa.ArrowInvalid, decimal.DecimalException) as error:
        raise _too_long(target) from error


def _too_long(target: Any) -> ConnectError:
    return ConnectError(
        f"a decimal of the records has more digits than {target}",
        hint="give the read a .schema(...) with string for the decimals",
    )


def _printed(schema: Schema, column: Any) -> Any:
    return pa.array([None if each is None else f"{each:f}" for each in column_to_values(schema, column)], pa.string())


def variants(texts: Any) -> Any:
    """Return JSON texts, or their bytes, as variants in Spark's binary form; raises ConnectError for invalid JSON.

    Arrow does not support variants, so they are made one by one, in about twenty microseconds each.
    """
    try:
        made = [None if text is None else VariantVal.parseJson(text) for text in texts.cast(pa.string()).to_pylist()]
    except (PySparkException, ValueError, RecursionError) as error:
        raise ConnectError(
            f"a value cannot be converted to a variant: {error}", hint="read it as text: option hearth.value json"
        ) from error
    parts = [
        pa.array([b"" if each is None else part(each) for each in made], pa.binary())
        for part in (attrgetter("value"), attrgetter("metadata"))
    ]
    mask = pa.array([each is None for each in made], pa.bool_())
    return pa.StructArray.from_arrays(parts, fields=list(to_arrow_type(VariantType())), mask=mask)
