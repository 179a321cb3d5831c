"""Converts columns of numbers and booleans to and from columns of big-endian bytes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Schema
from hearth_api.batch import arrow_type


def to_big_endian(column: Any) -> Any:
    """Return the bytes of each value of a column of numbers or booleans."""
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    elif pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(float("nan"), column.type), column)
    return _turned(column).view(pa.binary(column.type.byte_width)).cast(pa.binary())


def from_big_endian(data: Any, schema: Schema) -> Any:
    """Return the values of a column of bytes; `NotImplemented` if a row has an invalid value."""
    type_ = arrow_type(schema)
    is_boolean = pa.types.is_boolean(type_)
    number = pa.uint8() if is_boolean else type_
    try:
        cells = data.cast(pa.binary(number.byte_width))
    except pa.ArrowInvalid:
        return NotImplemented
    numbers = _turned(cells.view(number))
    if not is_boolean:
        return numbers
    if (pc.max(numbers).as_py() or 0) > 1:
        return NotImplemented
    return numbers.cast(type_)


def _turned(numbers: Any) -> Any:
    """Swap the bytes of each value on a little-endian machine."""
    width = numbers.type.byte_width
    if len(numbers) == 0 or width == 1 or sys.byteorder == "big":
        return numbers
    content = np.frombuffer(numbers.buffers()[1], f"u{width}", len(numbers), numbers.offset * width).byteswap()
    mask = numbers.is_null().to_numpy(zero_copy_only=False) if numbers.null_count else None
    return pa.array(content, pa.from_numpy_dtype(content.dtype), mask=mask).view(numbers.type)
