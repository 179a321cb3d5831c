"""Decimals of whole columns: texts of numbers, or Arrow's decimals, to the bytes of Connect's decimals, and back."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Decimal, Schema
from hearth_api.batch import TableColumn, column_to_values

_ARROW_DIGITS = 38
_ARROW_BYTES = 16
_SURE_BYTES = 15
"""Bytes of numbers that always have fewer digits than Arrow's decimals."""


def decimal_bytes(texts: Any, scale: int) -> Any:
    """Return texts of numbers, or decimals of this scale, as the unscaled bytes of Connect's decimals."""
    if pa.types.is_decimal(texts.type) or _is_plain(texts, scale):
        wide = texts.cast(pa.decimal128(_ARROW_DIGITS, scale))
        return TableColumn.of(wide.type, "").convert(wide)
    schema = Decimal.schema(scale)
    numbers = [None if text is None else _exact(text, scale) for text in texts.to_pylist()]
    return pa.array([None if each is None else Decimal.from_logical(schema, each) for each in numbers], pa.binary())


def whole_numbers(texts: Any) -> Any:
    """Return texts of whole numbers, or decimals, as INT64."""
    if pa.types.is_decimal(texts.type) or _is_plain(texts, 0):
        return texts.cast(pa.decimal128(_ARROW_DIGITS, 0)).cast(pa.int64())
    return pa.array([None if text is None else int(_exact(text, 0)) for text in texts.to_pylist()], pa.int64())


def _is_plain(texts: Any, scale: int) -> bool:
    """Return whether Arrow reads the texts: it wraps around without an error where digits exceed its decimals."""
    longest = pc.max(pc.utf8_length(texts)).as_py() or 0
    return longest + scale <= _ARROW_DIGITS and not pc.any(pc.match_substring(texts, "e", ignore_case=True)).as_py()


def _exact(text: str, scale: int) -> decimal.Decimal:
    """Return the number with exactly so many digits after the point."""
    context = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, traps=[decimal.Inexact])
    number = decimal.Decimal(text)
    if not number.is_finite():
        raise ValueError(f"{text} is no decimal")
    try:
        return number.quantize(decimal.Decimal(1).scaleb(-scale), context=context)
    except decimal.Inexact as error:
        raise ValueError(f"{text} has more than {scale} digits after the point") from error


def decimal_texts(schema: Schema, column: Any) -> Any:
    """Return the bytes of Connect's decimals as texts of numbers."""
    return arrow_decimals(schema, column).cast(pa.string())


def arrow_decimals(schema: Schema, column: Any) -> Any:
    """Return the bytes of Connect's decimals as Arrow's decimals, or as texts where one has too many digits."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(ends)
    if not len(column) or lengths.max() > _SURE_BYTES or Decimal.scale(schema) not in range(_ARROW_DIGITS):
        values = column_to_values(schema, column)
        return pa.array([None if value is None else f"{value:f}" for value in values], pa.string())
    octets = np.frombuffer(column.buffers()[2] or b"", np.uint8)
    wide = np.zeros((len(column), _ARROW_BYTES), np.uint8)
    is_there = lengths > 0
    wide[is_there] = np.where(octets[ends[:-1][is_there]] >= 128, 255, 0).astype(np.uint8)[:, None]
    for place in range(lengths.max()):
        has_byte = lengths > place
        wide[has_byte, place] = octets[ends[1:][has_byte] - 1 - place]
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    validity = pa.array(valid).buffers()[1] if column.null_count else None
    kind = pa.decimal128(_ARROW_DIGITS, Decimal.scale(schema))
    return pa.Array.from_buffers(kind, len(column), [validity, pa.py_buffer(wide)])
