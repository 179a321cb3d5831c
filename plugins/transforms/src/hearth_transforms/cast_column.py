"""Casts columns: with Arrow and numpy where they agree with Java, otherwise value by value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Schema, Type, is_logical
from hearth_api.batch import LateErrors, ScalarColumn, UnlikeError, arrow_type, column_to_values, values_to_column
from hearth_api.layout import ScalarsOfColumn
from hearth_transforms.casting import cast
from hearth_transforms.row_error import RowErrors, each, error_of

_INTEGERS: dict[Type, Any] = {
    Type.INT8: np.int8,
    Type.INT16: np.int16,
    Type.INT32: np.int32,
    Type.INT64: np.int64,
}
_FLOATS: dict[Type, Any] = {Type.FLOAT32: np.float32, Type.FLOAT64: np.float64}
_WHOLE: dict[Type, Any] = {**_INTEGERS, Type.BOOLEAN: np.bool_}
_NUMBERS: dict[Type, Any] = {**_WHOLE, **_FLOATS}
_INTS, _LONGS = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
_PLAIN_INTEGER = "^-?[0-9]{1,18}$"
_MAYBE_INTEGER = r"^[+-]?[0-9\x{80}-\x{10FFFF}]+$"
_MAYBE_FLOAT = r"^[\x00-\x20]*[+-]?[.0-9NI]"
"""A pattern that matches every text Java parses as a number; any other text fails without parsing."""


def cast_column(column: Any, schema: Schema, target: Type) -> Any:
    """Apply `cast` to each value of a column."""
    if (schema.type in _WHOLE and target in _NUMBERS) or (schema.type in _FLOATS and target in _FLOATS):
        return _cast_numbers(column, target)
    if schema.type in _FLOATS and target in _WHOLE:
        return _cast_floats(column, target)
    if target is Type.STRING and schema.type in _WHOLE and not is_logical(schema):
        return column.cast(pa.string())
    if schema.type is Type.STRING and target in _INTEGERS:
        return _cast_texts(column, schema, target)
    change = partial(cast, schema=schema, target=target)
    if schema.type is Type.STRING and target in _FLOATS:
        _refuse_others(column, _MAYBE_FLOAT, change)
    return values_to_column(Schema(target), each(change, column_to_values(schema, column)))


def cast_many(many: ScalarColumn, target: Type) -> ScalarColumn:
    """Apply `cast` to values without schema."""
    schema, column = many.column()
    if schema.name is not None or target is Type.FLOAT32:
        raise UnlikeError("a 32-bit float without schema is printed otherwise, and a time cannot be cast")
    if target is schema.type:
        return many
    found = cast_column(column, schema, target)
    is_printed_alike = target is Type.STRING and schema.type in _WHOLE
    return many.retold(Schema(target), found) if is_printed_alike else ScalarsOfColumn(Schema(target), found)


def _cast_numbers(column: Any, target: Type) -> Any:
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    filled = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    with np.errstate(over="ignore"):
        return pa.array(filled.to_numpy(zero_copy_only=False).astype(_NUMBERS[target]), mask=nulls)


def _cast_floats(column: Any, target: Type) -> Any:
    """Drop fractions: Java's integer is the nearest one of 64 bits, or of 32 bits for smaller types; NaN is 0."""
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    values = np.nan_to_num(column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64), nan=0.0)
    least, most = _LONGS if target in (Type.INT64, Type.BOOLEAN) else _INTS
    is_beyond = values >= most
    whole = np.where(is_beyond, 0, np.maximum(values, least)).astype(np.int64)
    whole[is_beyond] = most
    return pa.array(whole.astype(_WHOLE[target]), mask=nulls)


def _cast_texts(column: Any, schema: Schema, target: Type) -> Any:
    """Parse integers; unusual forms are parsed value by value."""
    change = partial(cast, schema=schema, target=target)
    plain = pc.fill_null(pc.match_substring_regex(column, _PLAIN_INTEGER), True)
    if plain.true_count < len(plain):
        _refuse_others(column, _MAYBE_INTEGER, change)
        rows = np.flatnonzero(~plain.to_numpy(zero_copy_only=False))
        try:
            found = each(change, column.take(pa.array(rows)).to_pylist())
        except RowErrors as failed:
            raise failed.placed(rows) from None
        column = pc.replace_with_mask(column, pc.invert(plain), pa.array(map(str, found), pa.string()))
    try:
        return column.cast(arrow_type(Schema(target)))
    except pa.ArrowInvalid:  # one is too large: `cast` finds it and raises Java's error
        return values_to_column(Schema(target), each(change, column.to_pylist()))


def _refuse_others(column: Any, pattern: str, change: Callable[[Any], Any]) -> None:
    """Raise RowErrors for the texts that do not match a pattern; their messages are built on demand."""
    may_be = pc.fill_null(pc.match_substring_regex(column, pattern), True)
    if may_be.true_count < len(may_be):
        errors = LateErrors()
        rows = np.flatnonzero(~may_be.to_numpy(zero_copy_only=False))
        errors.add(rows, lambda row: error_of(change, column[row].as_py()))
        raise RowErrors(errors)
