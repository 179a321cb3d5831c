"""Parses texts that hold a single value, recognised by their first characters, as most header values are.

It follows Kafka Connect's rules and oddities: `00123` is the number 123, `1.10` the float 1.1, `12e5` the number
1200000.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from hearth_api.java.temporal import parse_iso, parse_temporal
from hearth_api.logical import Decimal
from hearth_api.number import decimal_to_float32, parse_decimal
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    FLOAT32_SCHEMA,
    FLOAT64_SCHEMA,
    INT8_SCHEMA,
    INT16_SCHEMA,
    INT32_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
)

Found = tuple["Schema | None", Any]
"""A schema and a value of it."""
NULL: Found = (None, None)
LITERALS: dict[str, Found] = {"null": NULL, "true": (BOOLEAN_SCHEMA, True), "false": (BOOLEAN_SCHEMA, False)}
SPACE = "".join(map(chr, range(0x21)))  # the characters that Java's trim() removes

_DIGITS = "0123456789"
_SIGNS = "+-"
_DELIMITERS = ':,{}[]"'
_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))
_OPENING = frozenset(f"{_DIGITS}{_SIGNS}{SPACE}{{[tfn")
"""First characters of texts that may not be strings; non-ASCII digits count as well."""
_OF_TEXTS = _VISIBLE - frozenset(f"{_DIGITS}{_SIGNS}{_DELIMITERS}eE.\\")
"""Characters that occur in no number and in no first token of a date or time."""
_DECIMAL = re.compile(r"([+-]?[0-9]{1,18})\.([0-9]+)")
_FLOAT, _DOUBLE, _BITS = struct.Struct("=f"), struct.Struct("=d"), struct.Struct("=q")
_OF_MOMENTS = re.compile(r"[0-9A-Za-z:.+-]+")
_LONG = 19
"""Numbers with fewer digits fit 64 bits."""


def read_scalars(
    texts: Iterable[str | None], otherwise: Callable[[str | None], Found]
) -> tuple[list[Schema | None], list[Any]]:
    """Return the schemas and values of many texts, passing those that cannot be parsed here to a function."""
    schemas: list[Schema | None] = []
    values: list[Any] = []
    for text in texts:
        found = read_scalar(text) if type(text) is str else None
        schema, value = otherwise(text) if found is None else found
        schemas.append(schema)
        values.append(value)
    return schemas, values


def read_scalar(text: str) -> Found | None:
    """Return the value of a text; None if its tokens must be parsed."""
    if not text:
        return STRING_SCHEMA, text
    first = text[0]
    if first not in _OPENING:
        return None if first > "\x7f" and first.isdecimal() else (STRING_SCHEMA, text)
    if first in "tfn":
        return LITERALS.get(text) or LITERALS.get(text.rstrip(SPACE)) or (STRING_SCHEMA, text)
    if first in _DIGITS:
        rest = text.lstrip(_DIGITS)
        if not rest:
            return whole_number(int(text)) if len(text) < _LONG else _any_number(text)
        if rest[0] == "-" or rest[0] == ":":
            return parse_iso(text) or (_no_iso(text) if rest[0] == "-" else None)
    elif first in _SIGNS:
        rest = text[1:].lstrip(_DIGITS)
        if not rest and len(text) > 1:
            return whole_number(int(text)) if len(text) < _LONG else _any_number(text)
    else:
        return None
    return _with_rest(text, rest)


def _with_rest(text: str, rest: str) -> Found | None:
    """Return the value of a text that starts with digits followed by something else."""
    if not rest or rest[0] in _OF_TEXTS:
        return STRING_SCHEMA, text
    if rest[0] == "." and (match := _DECIMAL.fullmatch(text)) is not None:
        return _decimal(text, match[1], match[2])
    if rest[0] not in ".eE":
        return None
    end = rest[1:].lstrip(_DIGITS)
    if not end:
        return None
    if end[0] in _OF_TEXTS or end[0] == rest[0] == ".":
        return STRING_SCHEMA, text
    return _no_iso(text) if end[0] == "-" and len(end) < len(rest) - 1 else None


def _no_iso(text: str) -> Found | None:
    """Return the value of a text with a dash after its first digits: a date, a timestamp, or a string.

    Numbers have no dash there. Colons split the text into tokens: one token makes a date, five a timestamp.
    """
    if _OF_MOMENTS.fullmatch(text) is None:
        return None
    parts = text.split(":", 3)
    if "" in parts:
        return None
    found = parse_temporal(":".join(parts[:3])) if len(parts) > 2 else None
    found = found or parse_temporal(parts[0])
    return (STRING_SCHEMA, text) if found is None or found[0] is STRING_SCHEMA else found


def whole_number(number: int) -> Found:
    """Return a 64-bit integer with the narrowest schema that holds it."""
    if -0x80 <= number < 0x80:
        return INT8_SCHEMA, number
    if -0x8000 <= number < 0x8000:
        return INT16_SCHEMA, number
    return (INT32_SCHEMA if -0x80000000 <= number < 0x80000000 else INT64_SCHEMA), number


def read_number(token: str) -> Found | None:
    """Return the number of a token; None if it is not a number."""
    digits = token[1:] if token[:1] in _SIGNS else token
    if len(token) < _LONG and digits.isdecimal() and digits.isascii():
        return whole_number(int(token))
    if (match := _DECIMAL.fullmatch(token)) is not None:
        return _decimal(token, match[1], match[2])
    return _any_number(token)


def _any_number(token: str) -> Found | None:
    """Return any number that Java parses."""
    number = parse_decimal(token)
    if number is None:
        return None
    # Java looks for integers only within this range, so huge exponents cost nothing.
    if (number == 0 or 1 <= number.copy_abs() <= 10**19) and number == number.to_integral_value():
        whole = int(number)
        if -(1 << 63) <= whole < 1 << 63:
            return whole_number(whole)
    exponent = int(number.as_tuple().exponent)
    if exponent != 0:
        narrow = decimal_to_float32(number)
        if not math.isinf(narrow):
            return FLOAT32_SCHEMA, narrow
        wide = float(number)
        if not math.isinf(wide):
            return FLOAT64_SCHEMA, wide
    return _decimal_schema(-exponent), number


def _decimal(text: str, whole: str, fraction: str) -> Found | None:
    """Return the value of digits with a decimal point.

    The 64-bit float is the nearest one. The 32-bit float nearest to it is nearest to the decimal as well, unless the
    64-bit float is halfway between two of them, or too small.
    """
    if not fraction.strip("0"):
        return whole_number(int(whole))
    wide = float(text)
    if abs(wide) < 1e-30:
        return _any_number(text)
    (bits,) = _BITS.unpack(_DOUBLE.pack(wide))
    return (
        _any_number(text) if bits & 0x1FFFFFFF == 0x10000000 else (FLOAT32_SCHEMA, _FLOAT.unpack(_FLOAT.pack(wide))[0])
    )


@lru_cache(maxsize=1000)
def _decimal_schema(scale: int) -> Schema:
    return Decimal.schema(scale)
