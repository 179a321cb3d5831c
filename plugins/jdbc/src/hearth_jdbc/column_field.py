"""Which field of a record a column becomes, and how its values get there: Confluent's rules, in columns."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Date, Decimal, Schema, SchemaBuilder, Time, Timestamp
from hearth_jdbc.calendar_system import micros_to_hybrid, to_hybrid
from hearth_jdbc.decimal_column import decimal_bytes, whole_numbers
from hearth_jdbc.dialect.interface import Column, SqlType
from hearth_jdbc.nested_column import with_values
from hearth_jdbc.source_setting import FieldRules

MOST_WHOLE_DIGITS = 18
"""Digits of numbers that always fit into INT64."""
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class ColumnField:
    """The schema of a column's field, and the conversion of its values to the physical form."""

    name: str
    schema: Schema
    convert: Convert


def field_of(column: Column, rules: FieldRules) -> ColumnField | None:
    """Return the field of a column, None if records leave the column out."""
    is_text = column.type is SqlType.OTHER and rules.others_are_texts
    made = _MAKERS.get(SqlType.VARCHAR if is_text else column.type)
    if made is None:
        return None
    builder, convert = made(column, rules)
    if column.is_optional:
        builder = builder.optional()
    return ColumnField(column.name, builder.build(), _naming(column, convert))


def _naming(column: Column, convert: Convert) -> Convert:
    def converted(array: Any) -> Any:
        try:
            return convert(array)
        except (pa.ArrowException, ArithmeticError, ValueError) as error:
            text = f"column {column.name!r} of type {column.type_name} holds a value that does not fit: {error}"
            raise DataError(text, hint="cast the column in a query, or set numeric.mapping") from error

    return converted


Made = tuple[SchemaBuilder, Convert]


def _cast(builder: Callable[[], SchemaBuilder], kind: Callable[[], Any]) -> Callable[[Column, FieldRules], Made]:
    return lambda column, rules: (builder(), lambda array: array.cast(kind()))


_TINY = _cast(SchemaBuilder.int8, pa.int8)
_SMALL = _cast(SchemaBuilder.int16, pa.int16)
_INTEGER = _cast(SchemaBuilder.int32, pa.int32)
_BIG = _cast(SchemaBuilder.int64, pa.int64)
_DOUBLE = _cast(SchemaBuilder.float64, pa.float64)


def _numeric(column: Column, rules: FieldRules) -> Made:
    """Map a NUMERIC by `numeric.mapping`; without a declared precision it is no whole number."""
    mapping, precision, scale = rules.numeric_mapping, column.precision, column.scale
    is_fitting = precision <= MOST_WHOLE_DIGITS
    if mapping == "precision_only" and precision and scale == 0 and is_fitting:
        return _whole(column, rules)
    if mapping in ("best_fit", "best_fit_eager_double"):
        if precision and scale < 1 and is_fitting:
            return _whole(column, rules)
        if not precision or (scale > 0 and (is_fitting or mapping == "best_fit_eager_double")):
            return _DOUBLE(column, rules)
    return _decimal(column, rules)


def _whole(column: Column, rules: FieldRules) -> Made:
    widths = ((9, _BIG), (4, _INTEGER), (2, _SMALL))
    builder, convert = next((make for digits, make in widths if column.precision > digits), _TINY)(column, rules)
    return builder, lambda array: convert(whole_numbers(array))


def _decimal(column: Column, rules: FieldRules) -> Made:
    builder = Decimal.builder(column.scale).parameter("connect.decimal.precision", str(column.precision))
    return builder, lambda array: decimal_bytes(array, column.scale)


def _date(column: Column, rules: FieldRules) -> Made:
    return Date.builder(), to_hybrid if rules.is_hybrid else lambda array: array


def _time(column: Column, rules: FieldRules) -> Made:
    return Time.builder(), lambda array: floor_divided(array, 1000).cast(pa.int32())


def _timestamp(column: Column, rules: FieldRules) -> Made:
    unit, _, form = rules.timestamp_granularity.partition("_")
    hybrid = micros_to_hybrid if rules.is_hybrid else lambda array: array
    if unit == "connect":
        return Timestamp.builder(), lambda array: floor_divided(hybrid(array), 1000)
    factor = 1000 if unit == "nanos" else 1
    if form == "iso_datetime_string":
        zone, digits = ZoneInfo(rules.zone), 9 if factor > 1 else 6
        return SchemaBuilder.string(), lambda array: pa.array(
            [None if micros is None else _iso(micros, zone, digits) for micros in array.to_pylist()], pa.string()
        )
    if form == "string":
        return SchemaBuilder.string(), lambda array: pc.multiply_checked(hybrid(array), factor).cast(pa.string())
    return SchemaBuilder.int64(), lambda array: pc.multiply_checked(hybrid(array), factor)


def _iso(micros: int, zone: ZoneInfo, digits: int) -> str:
    moment = (_EPOCH + dt.timedelta(microseconds=micros)).astimezone(zone).replace(tzinfo=None)
    return f"{moment.isoformat('T', 'microseconds'):0<{20 + digits}}"


def floor_divided(array: Any, divisor: int) -> Any:
    """Return whole numbers divided and rounded down, where Arrow would round to zero."""
    numbers = np.floor_divide(array.fill_null(0).to_numpy(zero_copy_only=False), divisor)
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(numbers, pa.int64(), mask=mask)


def _array(column: Column, rules: FieldRules) -> Made:
    (element,) = _part_fields(column, rules)
    return SchemaBuilder.array(element.schema), lambda array: with_values(array, lambda _, part: element.convert(part))


def _map(column: Column, rules: FieldRules) -> Made:
    fields = _part_fields(column, rules)
    builder = SchemaBuilder.map(fields[0].schema, fields[1].schema)
    return builder, lambda array: with_values(array, lambda place, part: fields[place].convert(part))


def _struct(column: Column, rules: FieldRules) -> Made:
    fields = _part_fields(column, rules)
    builder = SchemaBuilder.struct()
    for field in fields:
        builder = builder.field(field.name, field.schema)
    return builder, lambda array: with_values(array, lambda place, part: fields[place].convert(part))


def _part_fields(column: Column, rules: FieldRules) -> list[ColumnField]:
    """Return the fields of the parts, all of which have one, since other types are texts where columns nest."""
    return [field for part in column.parts if (field := field_of(part, rules)) is not None]


_MAKERS: dict[SqlType, Callable[[Column, FieldRules], Made]] = {
    SqlType.BOOLEAN: _cast(SchemaBuilder.boolean, pa.bool_),
    SqlType.TINYINT: _TINY,
    SqlType.SMALLINT: _SMALL,
    SqlType.INTEGER: _INTEGER,
    SqlType.BIGINT: _BIG,
    SqlType.REAL: _cast(SchemaBuilder.float32, pa.float32),
    SqlType.DOUBLE: _DOUBLE,
    SqlType.NUMERIC: _numeric,
    SqlType.DECIMAL: _decimal,
    SqlType.VARCHAR: _cast(SchemaBuilder.string, pa.string),
    SqlType.NULL: _cast(SchemaBuilder.string, pa.string),
    SqlType.VARBINARY: _cast(SchemaBuilder.bytes, pa.binary),
    SqlType.DATE: _date,
    SqlType.TIME: _time,
    SqlType.TIMESTAMP: _timestamp,
    SqlType.ARRAY: _array,
    SqlType.MAP: _map,
    SqlType.STRUCT: _struct,
}
