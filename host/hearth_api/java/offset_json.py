"""Source offsets and source partitions as JSON, the way Kafka Connect stores them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api.errors import DataError
from hearth_api.text import double_text


def _base64(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    raise DataError(f"offset holds a value that is not primitive: {value!r}")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_base64).encode

_AS_PYTHON = frozenset((str, int, bool, type(None)))
"""What Python's JSON and Java's are alike for."""


def offset_to_json(offset: Mapping[str, Any]) -> str:
    """Return a source offset or source partition as JSON text, as Kafka Connect's JsonConverter writes it.

    Bytes become base64, fractions look as Java prints them, and what is no number is text: "NaN".
    """
    if len(offset) == 1:
        ((name, position),) = offset.items()
        if type(position) is int and type(name) is str:
            return f"{offset_opening(name)}{position}}}"  # what nearly every source has, once per record
    if _AS_PYTHON.issuperset(map(type, offset.values())):
        return _encode(offset if type(offset) is dict else dict(offset))
    return "{" + ",".join(offset_opening(str(name))[1:] + _value(value) for name, value in offset.items()) + "}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return double_text(value) if math.isfinite(value) else f'"{double_text(value)}"'
    try:
        return _encode(value)
    except ValueError as error:  # of json, for what is no number deeper inside
        raise DataError(f"offset holds a value that is not primitive: {value!r}") from error


@lru_cache(maxsize=100)
def offset_opening(name: str) -> str:
    """Return the beginning of the JSON text of an offset whose first member has this name."""
    return f"{{{_encode(name)}:"
