"""Converts JSON values to Connect values one at a time with Kafka Connect's leniency: the plain form.

A JSON value of another kind than the schema requires is converted by Jackson's accessors: a string as a number is 0, a
number as a string is null, an integer out of range wraps. Only logical types, maps and structs are strict. Maps have
the order of Java's hash tables, in which they are written and printed.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Iterator
from typing import Any

from hearth_api import STRING_SCHEMA, DataError, Date, Decimal, Schema, Struct, Time, Timestamp, Type
from hearth_api.java import decimal_to_float32, hash_ordered, to_long, wrap
from hearth_json.literal import from_base64
from hearth_json.setting import JsonConverterSettings
from hearth_json.tree import MISSING

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_DIGITS_AT_MOST = 10_000
_EXACT = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "BOOLEAN"), ((int, decimal.Decimal), "NUMBER"), (str, "STRING"), (list, "ARRAY"), (dict, "OBJECT"),
)  # fmt: skip


class ValueReader:
    """Converts JSON trees from `read_tree` to values of a schema."""

    def __init__(self, settings: JsonConverterSettings) -> None:
        """Keep the settings."""
        self._replaces = settings.replace_null_with_default

    def value(self, schema: Schema | None, tree: Any) -> Any:
        """Return the value of a tree; raise DataError if it cannot be converted."""
        if schema is None:
            return self._schemaless(tree)
        if tree is None:
            return self.null(schema)
        if schema.name is not None and schema.name in _LOGICAL:
            return _LOGICAL[schema.name](schema, tree)
        if schema.type is Type.STRUCT:
            return self._struct(schema, tree)
        if schema.type is Type.ARRAY:
            return [self.value(schema.value_schema, item) for item in _items(tree)]
        if schema.type is Type.MAP:
            return self._map(schema, tree)
        return _primitive(schema.type, tree)

    def null(self, schema: Schema) -> Any:
        """Return the value of a null: the default or None; raise DataError if neither is allowed."""
        if schema.default is not None and self._replaces:
            return schema.default
        if schema.optional:
            return None
        raise DataError(f"Invalid null value for required {schema.type} field")

    def _struct(self, schema: Schema, tree: Any) -> Struct:
        if not isinstance(tree, dict):
            raise DataError(f"Structs should be encoded as JSON objects, but found {kind_of(tree)}")
        struct = Struct(schema)
        for field in schema.fields:
            struct.put(field, self.value(field.schema, tree.get(field.name)))
        return struct

    def _map(self, schema: Schema, tree: Any) -> dict[Any, Any]:
        keys, items = schema.key_schema, schema.value_schema
        if keys is not None and keys.type is Type.STRING:
            if not isinstance(tree, dict):
                found = kind_of(tree)
                raise DataError(f"Maps with string fields should be encoded as JSON objects, but found {found}")
            return hash_ordered({text_of(key): self.value(items, item) for key, item in tree.items()}, keys)
        if not isinstance(tree, list):
            found = kind_of(tree)
            raise DataError(
                f"Maps with non-string fields should be encoded as JSON array of tuples, but found {found}"
            )
        return hash_ordered(dict(self._entries(keys, items, tree)), keys)

    def _entries(self, keys: Schema | None, items: Schema | None, tree: list[Any]) -> Iterator[tuple[Any, Any]]:
        for entry in tree:
            if not isinstance(entry, list):
                raise DataError(f"Found invalid map entry instead of array tuple: {kind_of(entry)}")
            if len(entry) != 2:
                raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
            key = self.value(keys, entry[0])
            if isinstance(key, (list, dict)):
                raise DataError("a map whose keys are arrays or maps cannot be held in Python")
            yield key, self.value(items, entry[1])

    def _schemaless(self, tree: Any) -> Any:
        if tree is None or tree is MISSING or isinstance(tree, bool):
            return None if tree is MISSING else tree
        if isinstance(tree, int):
            return wrap(tree, 64)
        if isinstance(tree, decimal.Decimal):
            return _double(tree)
        if isinstance(tree, str):
            return text_of(tree)
        if isinstance(tree, list):
            return [self._schemaless(item) for item in tree]
        return hash_ordered({text_of(key): self._schemaless(item) for key, item in tree.items()}, STRING_SCHEMA)


def _primitive(type_: Type, tree: Any) -> Any:
    if type_ in _BITS:
        return wrap(to_long(tree), _BITS[type_]) if _is_number(tree) else 0
    if type_ is Type.FLOAT64:
        return _double(tree) if _is_number(tree) else 0.0
    if type_ is Type.FLOAT32:
        return _float(tree) if _is_number(tree) else 0.0
    if type_ is Type.BOOLEAN:
        return tree is True
    if not isinstance(tree, str):
        return None
    return text_of(tree) if type_ is Type.STRING else _bytes(tree)


def _bytes(text: str) -> bytes:
    try:
        return from_base64(text)
    except ValueError as error:
        raise DataError("Invalid bytes field") from error


def _decimal(schema: Schema, tree: Any) -> decimal.Decimal:
    if _is_number(tree):
        return _scaled(schema, decimal.Decimal(tree))
    if not isinstance(tree, str):
        raise _wrong_kind("Decimal", "numeric or bytes", tree)
    try:
        unscaled = from_base64(tree)
        if not unscaled:
            raise ValueError("no bytes")
        return Decimal.to_logical(schema, unscaled)
    except (ValueError, DataError) as error:
        raise DataError("Invalid bytes for Decimal field") from error


def _scaled(schema: Schema, number: decimal.Decimal) -> decimal.Decimal:
    """Rescale a number to the scale of its schema.

    Kafka Connect keeps the scale of the JSON number, and no converter can write such a value later. A column of
    decimals has one scale, so zeros are added here, and a number with too many digits raises DataError.
    """
    scale = Decimal.scale(schema)
    if number and number.adjusted() + scale > _DIGITS_AT_MOST:
        raise DataError(f"decimal of more than {_DIGITS_AT_MOST} digits: {number}")
    step = decimal.Decimal(1).scaleb(-scale, _EXACT)
    scaled = _EXACT.quantize(number if number else number.copy_abs(), step)
    if scaled != number:
        raise DataError(f"decimal has more digits than the scale of its schema, {scale}: {number}")
    return scaled


def _date(schema: Schema, tree: Any) -> dt.date:
    if not _is_int(tree):
        raise _wrong_kind("Date", "integer", tree)
    return Date.to_logical(schema, tree)


def _time(schema: Schema, tree: Any) -> dt.time:
    if not _is_int(tree):
        raise _wrong_kind("Time", "integer", tree)
    return Time.to_logical(schema, tree)


def _timestamp(schema: Schema, tree: Any) -> dt.datetime:
    if not isinstance(tree, int) or isinstance(tree, bool):
        raise _wrong_kind("Timestamp", "integral", tree)
    return Timestamp.to_logical(schema, wrap(tree, 64))


def _wrong_kind(label: str, expected: str, tree: Any) -> DataError:
    found = kind_of(tree)
    return DataError(f"Invalid type for {label}, underlying representation should be {expected} but was {found}")


_LOGICAL: dict[str, Callable[[Schema, Any], Any]] = {
    Decimal.LOGICAL_NAME: _decimal,
    Date.LOGICAL_NAME: _date,
    Time.LOGICAL_NAME: _time,
    Timestamp.LOGICAL_NAME: _timestamp,
}


def _is_number(tree: Any) -> bool:
    return isinstance(tree, (int, decimal.Decimal)) and not isinstance(tree, bool)


def _is_int(tree: Any) -> bool:
    return isinstance(tree, int) and not isinstance(tree, bool) and -(1 << 31) <= tree < 1 << 31


def _double(number: int | decimal.Decimal) -> float:
    # Java's BigDecimal has no negative zero.
    return float(decimal.Decimal(number)) if number else 0.0


def _float(number: int | decimal.Decimal) -> float:
    return decimal_to_float32(decimal.Decimal(number)) if number else 0.0


def text_of(text: str) -> str:
    """Return a string that can be encoded as UTF-8: replace unpaired surrogates as Java does."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _items(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return list(tree.values())
    return tree if isinstance(tree, list) else []


def kind_of(tree: Any) -> str:
    """Return Jackson's name for the kind of a JSON value."""
    if tree is None:
        return "NULL"
    return next((name for kind, name in _KINDS if isinstance(tree, kind)), "MISSING")
