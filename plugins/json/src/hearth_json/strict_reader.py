"""Reads JSON values that match their schema exactly into the physical values of a column.

Between layouts and the plain form: it reads arrays, maps and members in any order several times faster than the plain
form, and gives up wherever leniency or a limit of Jackson could make a difference.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pyarrow as pa

from hearth_api import DataError, Date, Decimal, Schema, Time, Timestamp, Type
from hearth_api.batch import arrow_type
from hearth_api.java import hash_ordered, to_physical
from hearth_json.literal import from_base64
from hearth_json.scan import MAY_BE_DEEP, may_be_deep
from hearth_json.value_writer import LIMITS

_Read = Callable[[Any], Any]
_NULL = type(None)
_KINDS: dict[Type, type] = {Type.STRING: str, Type.BOOLEAN: bool}
# Python's dates and times have a smaller range than the integers that encode them.
RANGES: dict[str | None, tuple[int, int]] = {
    Date.LOGICAL_NAME: (-719_162, 2_932_896),
    Time.LOGICAL_NAME: (0, 86_399_999),
    Timestamp.LOGICAL_NAME: (-62_135_596_800_000, 253_402_300_799_999),
}
_TINY = re.compile(rb"[eE]-[0-9]{3}")
_LONG = re.compile(rb"[0-9.]{500}")


class UnsureError(ValueError):
    """The plain form may read the value differently."""


class StrictReader:
    """Reads payloads of any layout by schema."""

    def __init__(self, replaces: bool, cache_size: int) -> None:
        """Set whether defaults replace nulls, and the number of schemas to cache."""
        self._replaces = replaces
        self._size = max(cache_size, 1)
        self._readers: dict[Schema, _Read] = {}
        self._fields: dict[Schema, list[_Read]] = {}

    def physical(self, schema: Schema, payload: bytes) -> Any:
        """Return the physical value of a payload; raise ValueError if it is ambiguous."""
        return self._reader(schema)(_tree(payload))

    def column(self, schema: Schema, payloads: Sequence[bytes]) -> Any:
        """Return structs as a column, built field by field; raise ValueError if a payload is ambiguous."""
        trees = _trees(payloads)
        if schema.type is not Type.STRUCT or not schema.fields or not _are_all(dict, trees):
            raise UnsureError("no structs, or not all")
        columns = []
        for field, read in zip(schema.fields, self._field_readers(schema)):
            values = [tree.get(field.name) for tree in trees]
            if read is _refuse or not _are_sure(field.schema, values, self._replaces):
                values = list(map(read, values))
            columns.append(pa.array(values, arrow_type(field.schema)))
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(schema)))

    def _field_readers(self, schema: Schema) -> list[_Read]:
        readers = self._fields.get(schema)
        if readers is None:
            if len(self._fields) >= self._size:
                self._fields.clear()
            readers = self._fields[schema] = [self._compiled(field.schema) for field in schema.fields]
        return readers

    def _reader(self, schema: Schema) -> _Read:
        read = self._readers.get(schema)
        if read is None:
            if len(self._readers) >= self._size:
                self._readers.clear()
            read = self._readers[schema] = self._compiled(schema)
        return read

    def _compiled(self, schema: Schema) -> _Read:
        try:
            return _nullable(schema, self._replaces)
        except UnsureError:
            return _refuse


def _tree(payload: bytes) -> Any:
    if len(payload) > MAY_BE_DEEP or ((b"e-" in payload or b"E-" in payload) and _TINY.search(payload)):
        _check_limits(payload)
    return orjson.loads(payload)


def _trees(payloads: Sequence[bytes]) -> list[Any]:
    """Apply `_tree` to each payload; checking the limits for all of them together takes half the time."""
    whole = b",".join(payloads)
    is_near = max(map(len, payloads), default=0) > MAY_BE_DEEP
    is_near = is_near or (b"-" in whole and (b"e-" in whole or b"E-" in whole))
    return list(map(_tree if is_near else orjson.loads, payloads))


def _are_all(kind: type, values: list[Any]) -> bool:
    return list(map(type, values)).count(kind) == len(values)


def _are_sure(schema: Schema, values: list[Any], replaces: bool) -> bool:
    """Return whether all values surely have a type, or are null where null stays null, in one pass."""
    kinds = {*map(type, values)}
    if _NULL in kinds:
        if not schema.optional or (schema.default is not None and replaces):
            return False
        kinds.remove(_NULL)
        values = [value for value in values if value is not None]
    if not kinds:
        return True
    if schema.type in LIMITS:
        low, high = _range(schema)
        return kinds == {int} and low <= min(values) and max(values) <= high
    if schema.type is Type.FLOAT64:
        return kinds == {float} and 0.0 not in values  # -0.0 equals 0.0
    return schema.name not in RANGES and kinds == {_KINDS.get(schema.type)}


def _refuse(tree: Any) -> Any:
    raise UnsureError("a schema for the plain form")


def _check_limits(payload: bytes) -> None:
    if may_be_deep(payload) or _LONG.search(payload) or _TINY.search(payload):
        raise UnsureError("near a limit of the parser")


def _nullable(schema: Schema | None, replaces: bool) -> _Read:
    if schema is None:
        raise UnsureError("no schema")
    read = _present(schema, replaces)
    has_default = schema.default is not None and replaces
    default = to_physical(schema, schema.default) if has_default and schema.type.is_primitive else None
    may_be_null = default is not None or (schema.optional and not has_default)

    def value(tree: Any) -> Any:
        if tree is not None:
            return read(tree)
        if not may_be_null:
            raise UnsureError("null where there may be none, or an array, map or struct takes its place")
        return default

    return value


def _present(schema: Schema, replaces: bool) -> _Read:
    if schema.type is Type.STRUCT:
        return _struct(schema, replaces)
    if schema.type is Type.ARRAY:
        return _array(schema, replaces)
    if schema.type is Type.MAP:
        return _map(schema, replaces)
    if schema.name == Decimal.LOGICAL_NAME:
        return _decimal(schema)
    if schema.type in LIMITS:
        return _integer(schema)
    if schema.name in RANGES:
        raise UnsureError("a logical type on another type than its own")
    return _PRIMITIVES[schema.type]


def _struct(schema: Schema, replaces: bool) -> _Read:
    members = [(field.name, _nullable(field.schema, replaces)) for field in schema.fields]

    def read(tree: Any) -> dict[str, Any]:
        if type(tree) is not dict:
            raise UnsureError("not an object")
        get = tree.get
        return {name: value(get(name)) for name, value in members}

    return read


def _array(schema: Schema, replaces: bool) -> _Read:
    item = _nullable(schema.value_schema, replaces)

    def read(tree: Any) -> list[Any]:
        if type(tree) is not list:
            raise UnsureError("not an array")
        return [item(part) for part in tree]

    return read


def _map(schema: Schema, replaces: bool) -> _Read:
    keys, item = schema.key_schema, _nullable(schema.value_schema, replaces)
    if keys is None or not keys.type.is_primitive or keys.name in (Decimal.LOGICAL_NAME, *RANGES):
        raise UnsureError("keys of an unusual type")
    if keys.type is not Type.STRING:
        return _pairs(keys, _present(keys, replaces), item)

    def read(tree: Any) -> list[tuple[Any, Any]]:
        if type(tree) is not dict:
            raise UnsureError("not an object")
        return [(name, item(part)) for name, part in hash_ordered(tree, keys).items()]

    return read


def _pairs(schema: Schema, key: _Read, item: _Read) -> _Read:
    def read(tree: Any) -> list[tuple[Any, Any]]:
        if type(tree) is not list or not all(type(pair) is list and len(pair) == 2 for pair in tree):
            raise UnsureError("not an array of pairs")
        return list(hash_ordered({key(name): item(part) for name, part in tree}, schema).items())

    return read


def _integer(schema: Schema) -> _Read:
    low, high = _range(schema)

    def read(tree: Any) -> int:
        if type(tree) is not int or not low <= tree <= high:
            raise UnsureError("not an integer of the type")
        return tree

    return read


def _range(schema: Schema) -> tuple[int, int]:
    limit = LIMITS[schema.type]
    return RANGES.get(schema.name, (-limit, limit - 1))


def _decimal(schema: Schema) -> _Read:
    if schema.type is not Type.BYTES:
        raise UnsureError("a logical type on another type than its own")

    def read(tree: Any) -> bytes:
        unscaled = from_base64(_string(tree))
        if not unscaled:
            raise UnsureError("no bytes")
        try:
            return Decimal.from_logical(schema, Decimal.to_logical(schema, unscaled))
        except DataError as error:
            raise UnsureError("not a decimal") from error

    return read


def _boolean(tree: Any) -> bool:
    if type(tree) is not bool:
        raise UnsureError("not a boolean")
    return tree


def _string(tree: Any) -> str:
    if type(tree) is not str:
        raise UnsureError("not a text")
    return tree


def _bytes(tree: Any) -> bytes:
    return from_base64(_string(tree))


def _double(tree: Any) -> float:
    if type(tree) is int:
        return float(tree)
    if type(tree) is not float or (tree == 0.0 and math.copysign(1.0, tree) < 0.0):
        raise UnsureError("not a number, or a negative zero")
    return tree


def _float(tree: Any) -> float:
    """Return a number whose nearest 32-bit float does not depend on its further digits."""
    wide = _double(tree)
    (bits,) = struct.unpack(">q", struct.pack(">d", wide))
    is_half_way = bits & 0x1FFF_FFFF == 0x1000_0000
    is_usual = 1e-37 < abs(wide) < 3e38 or wide == 0.0
    if is_half_way or not is_usual or (type(tree) is int and abs(tree) > 1 << 53):
        raise UnsureError("rounding is not sure")
    return wide


_PRIMITIVES: dict[Type, _Read] = {
    Type.BOOLEAN: _boolean,
    Type.STRING: _string,
    Type.BYTES: _bytes,
    Type.FLOAT64: _double,
    Type.FLOAT32: _float,
}
