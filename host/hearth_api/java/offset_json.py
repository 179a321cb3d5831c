"""Source offsets and source partitions as the JSON that Kafka Connect stores."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
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
"""Types that Python and Java write as the same JSON."""


def offset_to_json(offset: Mapping[str, Any]) -> str:
    """Return a source offset or source partition as JSON text, as Kafka Connect's JsonConverter writes it.

    Bytes become base64, fractions are written as Java prints them, and non-finite numbers as strings: "NaN".
    """
    if len(offset) == 1:
        ((name, position),) = offset.items()
        if type(position) is int and type(name) is str:
            return f"{offset_opening(name)}{position}}}"  # the usual offset, written once per record
    if _AS_PYTHON.issuperset(map(type, offset.values())):
        return _encode(offset if type(offset) is dict else dict(offset))
    return "{" + ",".join(offset_opening(str(name))[1:] + _value(value) for name, value in offset.items()) + "}"


def offsets_to_json(offsets: Sequence[Any]) -> list[str | None]:
    """Return the texts of several offsets, each as `offset_to_json` writes it; None stays None.

    Offsets of one source nearly always have the same members, so each member is written for all offsets at once.
    """
    members = _by_member(offsets)
    if not members:
        return [None if offset is None else offset_to_json(offset) for offset in offsets]
    *names, last = members
    openings = [offset_opening(name)[0 if place == 0 else 1 :] for place, name in enumerate(members)]
    ends = [f"{openings[-1]}{value}}}" for value in _values(members[last])]
    if not names:
        return list(ends)
    columns = [[f"{opening}{value}," for value in _values(members[name])] for name, opening in zip(names, openings)]
    return list(map("".join, zip(*columns, ends)))


def _by_member(offsets: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the values of each member if all offsets have the same members in the same order, else an empty dict."""
    first = offsets[0] if offsets else None
    if not first or set(map(type, offsets)) != {dict} or set(map(type, first)) != {str}:
        return {}
    shapes: list[Any] = list(map(len if len(first) == 1 else tuple, offsets))
    if shapes.count(shapes[0]) != len(shapes):
        return {}
    try:
        return {name: [offset[name] for offset in offsets] for name in first}
    except KeyError:
        return {}


def _values(values: Sequence[Any]) -> Sequence[Any]:
    """Return the JSON of a member's values."""
    kinds = set(map(type, values))
    if kinds == {int}:
        return values
    if kinds == {str} and values.count(values[0]) == len(values):
        return [_encode(values[0])] * len(values)
    return list(map(_value, values))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return double_text(value) if math.isfinite(value) else f'"{double_text(value)}"'
    try:
        return _encode(value)
    except ValueError as error:  # from json, for a nested non-finite number
        raise DataError(f"offset holds a value that is not primitive: {value!r}") from error


@lru_cache(maxsize=100)
def offset_opening(name: str) -> str:
    """Return the start of the JSON text of an offset whose first member has this name."""
    return f"{{{_encode(name)}:"
