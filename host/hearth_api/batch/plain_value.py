"""Recognises values that are JSON without tags.

This module is compiled, so it limits its depth rather than rely on a Python frame for each level.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

from hearth_api.schema import Schema, Type

_ARRAY, _MAP = Type.ARRAY, Type.MAP  # looking up an Enum member is slow
_MOST_LEVELS = 100


def is_plain(schema: Schema | None, value: Any) -> bool:
    """Return whether a value fits its schema and is the JSON of its own physical form; False if not certain."""
    return _is_plain(schema, value, 0)


def _is_plain(schema: Schema | None, value: Any, level: int) -> bool:
    kind = type(value)
    if value is None:
        return True
    if schema is not None and schema.name is not None:
        return False
    if kind is list:
        if level == _MOST_LEVELS or (schema is not None and schema.type is not _ARRAY):
            return False
        items = None if schema is None else schema.value_schema
        for item in value:  # noqa: SIM110 - a generator costs as much as all the rest
            if not _is_plain(items, item, level + 1):
                return False
        return True
    if kind is dict:
        return level < _MOST_LEVELS and _is_plain_map(schema, value, level + 1)
    if kind is float:
        return (schema is None or schema._kind is float) and isfinite(value)
    if kind is not str and kind is not int and kind is not bool:
        return False
    return schema is None or (
        schema._kind is kind and (schema._most is None or schema._least <= value <= schema._most)
    )


def _is_plain_map(schema: Schema | None, entries: dict[Any, Any], level: int) -> bool:
    keys: Schema | None = None
    items: Schema | None = None
    if schema is not None:
        if schema.type is not _MAP:
            return False
        keys, items = schema.key_schema, schema.value_schema
        if keys is not None and (keys._kind is not str or keys.name is not None):
            return False
    for key, item in entries.items():
        if type(key) is not str or not _is_plain(items, item, level):
            return False
    return len(entries) != 1 or not next(iter(entries)).startswith("@")
