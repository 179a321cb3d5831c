"""Converts the JSON texts of one slot in many rows to a column, and marks the ambiguous rows.

Each function takes the texts of a slot and returns the column and a boolean array of the rows whose values surely
equal those of the plain form, or None if all do. The values of other rows are undefined.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Decimal, Schema, Type
from hearth_api.batch import arrow_type
from hearth_api.layout import as_string, constant, memory, nulled
from hearth_json.literal import from_base64
from hearth_json.strict_reader import RANGES
from hearth_json.value_reader import ValueReader

_NUMBER = r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$"
_IS_NUMBER = re.compile(_NUMBER)
_INTEGER = r"^(?:0|-?[1-9][0-9]{0,17})$"
_LONGEST_NUMBER = 1000
_ZERO, _MINUS, _N = b"0-n"
Sure = tuple[Any, Any]


def leaf_column(reader: ValueReader, schema: Schema, texts: Any, is_quoted: bool) -> Sure:
    """Return the column of a slot's texts.

    Quoted texts are passed without quotes and escapes, and their nulls as nulls. Unquoted texts are passed unchanged.
    """
    if schema.name == Decimal.LOGICAL_NAME:
        return _decimals(reader, schema, texts, is_quoted)
    if schema.type is Type.STRING:
        return as_string(texts), None
    if schema.type is Type.BYTES:
        return _each(texts, from_base64, pa.binary())
    texts = without_null(as_string(texts))
    if schema.type is Type.BOOLEAN:
        return _booleans(texts)
    if schema.type is Type.FLOAT32 or schema.type is Type.FLOAT64:
        return _floats(schema, texts)
    return _in_range(schema, *_integers(arrow_type(schema), texts))


def unescape(texts: Any, rows: Any) -> Sure:
    """Unescape quoted texts, of which only the given rows contain escapes."""
    column = as_string(texts)
    mask = np.zeros(len(texts), bool)
    mask[rows] = True
    plain, sure = _each(texts.filter(pa.array(mask)), _unescaped, pa.string())
    column = pc.replace_with_mask(column, pa.array(mask), plain)
    if sure is None:
        return column, None
    everywhere = np.ones(len(texts), bool)
    everywhere[rows] = sure
    return column, everywhere


def without_null(texts: Any) -> Any:
    """Replace the JSON literal null by a null."""
    content, offsets = memory(texts)
    if not (content.take(offsets[:-1], mode="clip") == _N).any():
        return texts
    return nulled(texts, pc.equal(texts, constant("null")))


def _unescaped(text: str) -> str:
    unescaped: str = orjson.loads(f'"{text}"')
    return unescaped


def _each(texts: Any, read: Callable[[str], Any], type_: Any) -> Sure:
    values: list[Any] = []
    sure = np.ones(len(texts), bool)
    for index, text in enumerate(as_string(texts).to_pylist()):
        try:
            values.append(None if text is None else read(text))
        except (ValueError, DataError):
            values.append(None)
            sure[index] = False
    return pa.array(values, type_), None if sure.all() else sure


def _decimals(reader: ValueReader, schema: Schema, texts: Any, is_quoted: bool) -> Sure:
    if schema.type is not Type.BYTES:
        return pa.nulls(len(texts), arrow_type(schema)), np.zeros(len(texts), bool)

    def unquoted(text: str) -> bytes | None:
        if text == "null":
            return None
        if len(text) > _LONGEST_NUMBER or not _IS_NUMBER.match(text):
            raise ValueError(text)
        return Decimal.from_logical(schema, reader.value(schema, decimal.Decimal(text)))

    def quoted(text: str) -> bytes:
        return Decimal.from_logical(schema, reader.value(schema, text))

    return _each(texts, quoted if is_quoted else unquoted, pa.binary())


def _booleans(texts: Any) -> Sure:
    values = pc.equal(texts, constant("true"))
    sure = pc.fill_null(pc.or_(values, pc.equal(texts, constant("false"))), True)
    return values, None if pc.all(sure).as_py() else sure.to_numpy(zero_copy_only=False)


def _floats(schema: Schema, texts: Any) -> Sure:
    sure = pc.fill_null(pc.match_substring_regex(texts, _NUMBER), True).to_numpy(zero_copy_only=False)
    if not sure.all():
        texts = nulled(texts, ~sure)
    values = texts.cast(arrow_type(schema))
    numbers = pc.fill_null(values, 1).to_numpy(zero_copy_only=False)
    # Java's BigDecimal has no negative zero, but a tiny negative number rounds to one.
    sure &= ~((numbers == 0) & np.signbit(numbers))
    if texts.nbytes > _LONGEST_NUMBER:
        sure &= pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False) <= _LONGEST_NUMBER
    return values, None if sure.all() else sure


def _integers(type_: Any, texts: Any) -> Sure:
    try:
        values = texts.cast(type_)
    except pa.ArrowInvalid:
        return _checked_integers(type_, texts)
    # Arrow also accepts leading zeros and hexadecimal numbers, which start with a zero.
    content, offsets = memory(texts)
    if len(content) == 0:
        return values, None
    firsts = content.take(offsets[:-1], mode="clip")
    is_negative = firsts == _MINUS
    if is_negative.any():
        firsts = content.take(offsets[:-1] + is_negative, mode="clip")
    starts_with_zero = firsts == _ZERO
    if starts_with_zero.any() and (starts_with_zero & (np.diff(offsets) > 1)).any():
        return _checked_integers(type_, texts)
    return values, None


def _checked_integers(type_: Any, texts: Any) -> Sure:
    sure = pc.fill_null(pc.match_substring_regex(texts, _INTEGER), True)
    wide = nulled(texts, pc.invert(sure)).cast(pa.int64())
    values = wide.cast(type_, safe=False)
    sure = pc.and_(sure, pc.fill_null(pc.equal(values.cast(pa.int64()), wide), True))
    return values, sure.to_numpy(zero_copy_only=False)


def _in_range(schema: Schema, values: Any, sure: Any) -> Sure:
    limits = RANGES.get(schema.name)
    if limits is None:
        return values, sure
    low, high = limits
    bounds = pc.min_max(values)
    if bounds["min"].as_py() is None or (low <= bounds["min"].as_py() and bounds["max"].as_py() <= high):
        return values, sure
    fits = pc.fill_null(pc.and_(pc.greater_equal(values, low), pc.less_equal(values, high)), True)
    inside = fits.to_numpy(zero_copy_only=False)
    return values, inside if sure is None else sure & inside
