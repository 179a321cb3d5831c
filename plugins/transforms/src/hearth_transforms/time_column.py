"""Converts columns of times as a whole if all of them are within the years 1 to 9999."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Type
from hearth_api.batch import ScalarColumn, UnlikeError, arrow_type
from hearth_api.layout import ScalarsOfColumn, as_string, chosen, join
from hearth_transforms.date_format import DateFormat, Section
from hearth_transforms.time_kind import (
    DATE,
    DAY,
    MILLIS,
    STRING,
    TIME,
    TIMESTAMP,
    UNIX,
    Notation,
    TimeKind,
    kind_of_schema,
)

_FIRST_DAY = -719_162
_FIRST = _FIRST_DAY * DAY
_LAST = 2_932_897 * DAY - 1


def converted(column: Any, source: TimeKind, target: TimeKind, notation: Notation) -> Any:
    """Convert times from one kind to another; None if the records must determine an error."""
    try:
        millis = _millis(column, source, notation)
        bounds = pc.min_max(millis)
        if millis.null_count < len(millis) and not (_FIRST <= bounds["min"].as_py() <= bounds["max"].as_py() <= _LAST):
            return None
        return _from_millis(millis, target, notation)
    except (pa.ArrowInvalid, DataError):
        return None


def convert_many(many: ScalarColumn, target: TimeKind, notation: Notation) -> ScalarColumn:
    """Apply `convert` to values without schema."""
    schema, column = many.column()
    if schema.type is Type.BOOLEAN or schema.type is Type.FLOAT64:
        raise UnlikeError("values that are no times")
    found = converted(column, kind_of_schema(schema), target, notation)
    if found is None:
        raise UnlikeError("one of the values cannot be converted")
    return many.retold(target.schema, found) if found is column else ScalarsOfColumn(target.schema, found)


def _millis(column: Any, source: TimeKind, notation: Notation) -> Any:
    if source is STRING:
        return _each(column, pa.int64(), lambda text: source.millis(text, notation, source.schema))
    if source is UNIX:
        return _rescaled(column, notation.per_second, MILLIS)
    if source is TIMESTAMP:
        return column
    column = column.cast(pa.int64())
    return pc.multiply(column, _number(DAY)) if source is DATE else column


def _from_millis(millis: Any, target: TimeKind, notation: Notation) -> Any:
    if target is STRING and notation.format is not None:
        return _printed(millis, notation.format)
    if target is UNIX:
        return _rescaled(millis, MILLIS, notation.per_second)
    if target not in (DATE, TIME):
        return millis
    since_first = pc.subtract(millis, _number(_FIRST))  # the division rounds towards zero
    days = pc.divide(since_first, _number(DAY))
    if target is DATE:
        return pc.add(days, _number(_FIRST_DAY)).cast(arrow_type(target.schema))
    return pc.subtract(since_first, pc.multiply(days, _number(DAY))).cast(arrow_type(target.schema))


def _printed(millis: Any, pattern: DateFormat) -> Any:
    """Format times section by section, equal ones once."""
    # Times with equal texts now have equal numbers.
    steps = pc.divide(pc.subtract(millis, _number(_FIRST)), _number(pattern.step)).dictionary_encode()
    different = steps.dictionary.to_numpy() * pattern.step + _FIRST
    pieces = [_section(each, different) for each in pattern.sections]
    return as_string(join(pieces, len(different))).take(steps.indices)


def _section(section: Section, millis: Any) -> Any:
    """Return the texts of one section of the format."""
    steps = millis // section.step
    if section.count is not None:
        return chosen(section.texts, steps % section.count)
    days = pa.array(steps).dictionary_encode()
    return chosen([section.print(day).encode() for day in days.dictionary.to_pylist()], days.indices.to_numpy())


def _rescaled(column: Any, per_second: int, new_per_second: int) -> Any:
    if new_per_second == per_second:
        return column
    if new_per_second >= per_second:
        return pc.multiply_checked(column, _number(new_per_second // per_second))
    return pc.divide(column, _number(per_second // new_per_second))


def _number(value: int) -> Any:
    """Return an Arrow scalar, which saves Arrow's check for pandas on each call."""
    return pa.scalar(value, pa.int64())


def _each(column: Any, type_: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert each value of the column, equal ones once."""
    encoded = column.dictionary_encode()
    return pa.array([convert(each) for each in encoded.dictionary.to_pylist()], type_).take(encoded.indices)
