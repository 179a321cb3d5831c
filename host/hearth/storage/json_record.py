"""JSON in the records of a cluster's topics, byte for byte as Jackson writes it for Kafka Connect's JsonConverter."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hearth_api.java import offset_to_json

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_ESCAPED = re.compile("\\\\(?:u([0-9a-f]{4})|.)|[\U00010000-\U0010ffff]|[\ud800-\udfff]")


def to_bytes(value: object) -> bytes:
    """Return a value of maps, lists, strings, integers and booleans as JSON."""
    return _as_jackson(_encode(value))


def offset_bytes(offset: Mapping[str, Any]) -> bytes:
    """Return a source offset as JSON, with fractions formatted as in Java."""
    return _as_jackson(offset_to_json(offset))


def _as_jackson(text: str) -> bytes:
    """Return Python's JSON text as Jackson writes it in UTF-8, with escapes in upper case."""
    return _ESCAPED.sub(_escape, text).encode()


def from_bytes(data: bytes) -> Any:
    """Return the content of a record; raise ValueError if it is not JSON."""
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _escape(match: re.Match[str]) -> str:
    text, code = match.group(), match.group(1)
    if code is not None:
        return f"\\u{code.upper()}"
    if len(text) == 2:
        return text
    if ord(text) < 0x10000:
        return "?"  # a lone surrogate has no UTF-8 encoding
    high, low = divmod(ord(text) - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04X}\\u{0xDC00 + low:04X}"
