"""Source offsets and source partitions as JSON, the way Kafka Connect stores them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api.errors import DataError


def _base64(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    raise DataError(f"offset holds a value that is not primitive: {value!r}")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_base64).encode


def offset_to_json(offset: Mapping[str, Any]) -> str:
    """Return a source offset or source partition as JSON text; bytes become base64, as in Kafka Connect."""
    if len(offset) == 1:
        ((name, position),) = offset.items()
        if type(position) is int and type(name) is str:
            return f"{_opening(name)}{position}}}"  # what nearly every source has, once per record
    return _encode(offset if type(offset) is dict else dict(offset))


@lru_cache(maxsize=100)
def _opening(name: str) -> str:
    return f"{{{_encode(name)}:"
