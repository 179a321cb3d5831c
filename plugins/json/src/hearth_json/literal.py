"""Writes scalars as JSON text exactly as Jackson does for Kafka Connect, and reads base64 as it does.

In strings only quotes, backslashes, control characters and characters beyond the Basic Multilingual Plane are escaped,
the latter as two surrogates. Numbers are Java's `toString()`. Base64 requires padding; white space is allowed between
groups of four characters.
"""

from __future__ import annotations

import binascii
import decimal
import math
import re

from hearth_api import DataError
from hearth_api.java import double_text, float_text

ESCAPED = re.compile('["\\\\\x00-\x1f\ud800-\udfff\U00010000-\U0010ffff]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_USUAL = re.compile("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_GROUP = "[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}=="
_LENIENT = re.compile(f"(?:[\x00-\x20]*(?:{_GROUP}))*[\x00-\x20]*")
_GROUPS = re.compile(_GROUP)


def string_literal(text: str) -> str:
    """Return a string as a JSON string."""
    return f'"{escape(text)}"'


def escape(text: str) -> str:
    """Escape a string for use between the quotes of a JSON string."""
    return ESCAPED.sub(_escape, text)


def double_literal(value: float) -> str:
    """Return a FLOAT64 as a JSON number, or as a JSON string if it is not finite."""
    return double_text(value) if math.isfinite(value) else f'"{double_text(value)}"'


def float_literal(value: float) -> str:
    """Return a FLOAT32 as a JSON number, or as a JSON string if it is not finite in 32 bits."""
    text = float_text(value)
    return f'"{text}"' if text[-1] in "yN" else text


def base64_literal(value: bytes) -> str:
    """Return bytes as a JSON string of base64."""
    return f'"{binascii.b2a_base64(value, newline=False).decode()}"'


def from_base64(text: str) -> bytes:
    """Decode base64; raise ValueError if it is invalid."""
    if _USUAL.fullmatch(text):
        return binascii.a2b_base64(text)
    if not _LENIENT.fullmatch(text):
        raise ValueError("not base64")
    return b"".join(map(binascii.a2b_base64, _GROUPS.findall(text)))


def decimal_literal(value: decimal.Decimal) -> str:
    """Return a decimal as a JSON number with all its digits; Java has no negative zero."""
    if not value.is_finite():
        raise DataError(f"Decimal value is not a number: {value}")
    return str(value if value else value.copy_abs())


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    short = _SHORT.get(char)
    if short is not None:
        return short
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04X}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}"
