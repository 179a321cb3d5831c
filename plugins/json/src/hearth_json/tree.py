"""Parses JSON bytes to plain Python values, as leniently as Jackson in Kafka Connect's configuration.

Integers become int, other numbers Decimal with all their digits. Only the first value of the bytes is read, leading
zeros are accepted, the last of duplicate members wins, and UTF-16 and UTF-32 are recognised. Numbers of more than
1000 digits and more than 1000 levels are refused. A process with a lower recursion limit than a stage refuses fewer
levels. Unlike Jackson it refuses overlong UTF-8, and does not limit the length of strings.
"""

from __future__ import annotations

import decimal
import json
import re
from json.scanner import make_scanner
from typing import Any, Final

from hearth_api import DataError
from hearth_json.depth import is_too_deep, too_deep


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""The value of bytes without any JSON value."""

MALFORMED = "Converting byte[] to Kafka Connect data failed due to serialization error: "
_DIGIT_LIMIT = 1000
_EXPONENTS = range(-(2**31) + 1, 2**31 + 1)
_SPACE = re.compile(r"[ \t\n\r]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[-+.\w]+', re.DOTALL)
_FIRSTS = frozenset('{["-0123456789tfnNI')
"""The start of a value, or a JavaScript number literal that JSON lacks."""
_ZERO = re.compile(r"(?<![0-9])0[0-9]")
_LEADING_ZEROS = re.compile(r"^(-?)0+(?=[0-9])")
_QUAD = 4
"""The number of bytes that Jackson requires to detect a byte order mark."""
_BOM = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def read_tree(data: bytes) -> Any:
    """Return the first JSON value of the bytes, MISSING if there is none; raise DataError for malformed bytes."""
    found = tree_or_error(data)
    if isinstance(found, DataError):
        raise found
    return found


def tree_or_error(data: bytes) -> Any:
    """Return the result of `read_tree`, or its DataError without raising it, which saves time."""
    text = _text(data)
    start = space_end(text, 0)
    if start == len(text):
        return MISSING
    cause: Exception
    if text[start] not in _FIRSTS:
        cause = _no_value(text, start)
    elif is_too_deep(text, start):
        cause = too_deep("Read")
    else:
        try:
            return _first_value(text, start)
        except (ValueError, RecursionError) as error:
            cause = error.with_traceback(None)
    malformed = DataError(MALFORMED)
    malformed.__cause__ = cause
    return malformed


def read_member(text: str, start: int) -> tuple[Any, int]:
    """Return the JSON value at a position inside other JSON, and its end; raise ValueError if there is none."""
    scan = _scan if len(text) <= _DIGIT_LIMIT else _counting_scan
    try:
        return scan(text, start)
    except StopIteration as stop:
        raise _no_value(text, stop.value) from None
    except decimal.InvalidOperation as error:
        raise ValueError("number out of range") from error


def _no_value(text: str, place: int) -> json.JSONDecodeError:
    return json.JSONDecodeError("Expecting value", text, place)


def space_end(text: str, start: int) -> int:
    """Return the position of the first character that is not JSON white space."""
    match = _SPACE.match(text, start)
    return start if match is None else match.end()


def _first_value(text: str, start: int) -> Any:
    try:
        return _read_strictly(text, start)
    except ValueError:
        # Python's parser refuses leading zeros.
        if _ZERO.search(text, start) is None:
            raise
        return _read_strictly(_TOKEN.sub(_strip_zeros, text[start:]), 0)


def _read_strictly(text: str, start: int) -> Any:
    value, end = read_member(text, start)
    following = text[end : end + 1]
    first = text[start]
    if first in "-0123456789" and following and following not in " \t\n\r":
        raise ValueError(f"number followed by {following!r}")
    if first in "tfn" and (following.isalnum() or following in ("_", "$") or following > "~"):
        raise ValueError(f"literal followed by {following!r}")
    return value


def _text(data: bytes) -> str:
    encoding = "utf-8"
    if len(data) < _QUAD:  # too short for a byte order mark
        encoding = json.detect_encoding(data[:2]) if 0 in data[:2] else encoding
    elif 0 in data[:_QUAD] or data.startswith(_BOM):
        encoding = json.detect_encoding(data)
    if encoding == "utf-8-sig":  # error positions of this codec exclude the mark
        data, encoding = data[len(_BOM[0]) :], "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # Text after the first value is ignored; a marker prevents a number from ending at the error.
        return data[: error.start].decode(encoding) + "\ufffd"


def _strip_zeros(match: re.Match[str]) -> str:
    token = match.group()
    return token if token.startswith('"') else _LEADING_ZEROS.sub(r"\1", token)


def _decimal(text: str) -> decimal.Decimal:
    number = decimal.Decimal(text)
    exponent = number.as_tuple().exponent
    if exponent not in _EXPONENTS:
        raise ValueError(f"exponent out of range: {text}")
    return number


def _counted(text: str) -> str:
    if len(text) > _DIGIT_LIMIT and sum(map(str.isdigit, text)) > _DIGIT_LIMIT:
        raise ValueError(f"number of more than {_DIGIT_LIMIT} digits")
    return text


def _refuse(name: str) -> Any:
    raise ValueError(f"not JSON: {name}")


_PLAIN: Any = json.JSONDecoder(parse_float=_decimal, parse_constant=_refuse)
_COUNTING: Any = json.JSONDecoder(
    parse_float=lambda text: _decimal(_counted(text)),
    parse_int=lambda text: int(_counted(text)),
    parse_constant=_refuse,
)
_scan, _counting_scan = make_scanner(_PLAIN), make_scanner(_COUNTING)
