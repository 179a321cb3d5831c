"""Structs, the values of struct schemas, and checks that a Python value is what its schema says."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from typing import Any

from hearth_api.errors import DataError
from hearth_api.schema import INTEGER_RANGES, LOGICAL_KINDS, Field, Schema, Type, deep_key
from hearth_api.text import java_text

# Members of an Enum are looked up slowly.
(
    _INT8, _INT16, _INT32, _INT64, _FLOAT32, _FLOAT64, _BOOLEAN, _STRING, _BYTES, _ARRAY, _MAP, _STRUCT,
) = Type  # fmt: skip
_PYTHON_TYPES: dict[Type, Any] = {
    **dict.fromkeys(INTEGER_RANGES, int),
    Type.FLOAT32: float,
    Type.FLOAT64: float,
    Type.BOOLEAN: bool,
    Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
    Type.ARRAY: (list, tuple),
    Type.MAP: dict,
}


class Struct:
    """A value with named fields; `put` checks every value against the schema of its field.

    Not thread-safe. A struct that already went into a record must not be changed any more.
    """

    __slots__ = ("_values", "schema")

    def __init__(self, schema: Schema) -> None:
        """Start with every field unset."""
        unset = schema._unset
        if unset is None:
            raise DataError(f"Not a struct schema: {schema!r}")
        self.schema = schema
        self._values: list[Any] = unset.copy()

    @classmethod
    def unchecked(cls, schema: Schema, values: Sequence[Any]) -> Struct:
        """Return a struct of values, one per field in order, that are known to fit the schema: nobody looks again."""
        struct = cls.__new__(cls)
        struct.schema = schema
        struct._values = list(values)
        return struct

    def raw_values(self) -> tuple[Any, ...]:
        """Return the values as they were put, one per field in order, defaults not applied."""
        return tuple(self._values)

    def put(self, field: str | Field, value: Any) -> Struct:
        """Set a field and return the struct; a value that does not fit raises a DataError."""
        try:
            target = self.schema._by_name[field]  # type: ignore[index]
        except KeyError:
            target = self._lookup(field)
        schema = target.schema
        # What `validate_value` asks first, without the call.
        if type(value) is not schema._kind or not (schema._most is None or schema._least <= value <= schema._most):
            validate_value(schema, value, target.name)
        self._values[target.index] = value
        return self

    def get(self, field: str | Field) -> Any:
        """Return the value of a field, or the field's default when it is unset."""
        try:
            target = self.schema._by_name[field]  # type: ignore[index]
        except KeyError:
            target = self._lookup(field)
        value = self._values[target.index]
        return target.schema.default if value is None else value

    def get_without_default(self, field: str | Field) -> Any:
        """Return the value of a field as it was put, None when it is unset."""
        return self._values[self._lookup(field).index]

    def get_int8(self, name: str) -> int | None:
        """Return the value of an INT8 field; like all typed getters it does not apply the default."""
        return self._values[self.schema._indexes[_INT8][name]]  # type: ignore[no-any-return]

    def get_int16(self, name: str) -> int | None:
        """Return the value of an INT16 field."""
        return self._values[self.schema._indexes[_INT16][name]]  # type: ignore[no-any-return]

    def get_int32(self, name: str) -> int | None:
        """Return the value of an INT32 field."""
        return self._values[self.schema._indexes[_INT32][name]]  # type: ignore[no-any-return]

    def get_int64(self, name: str) -> int | None:
        """Return the value of an INT64 field."""
        return self._values[self.schema._indexes[_INT64][name]]  # type: ignore[no-any-return]

    def get_float32(self, name: str) -> float | None:
        """Return the value of a FLOAT32 field."""
        return self._values[self.schema._indexes[_FLOAT32][name]]  # type: ignore[no-any-return]

    def get_float64(self, name: str) -> float | None:
        """Return the value of a FLOAT64 field."""
        return self._values[self.schema._indexes[_FLOAT64][name]]  # type: ignore[no-any-return]

    def get_boolean(self, name: str) -> bool | None:
        """Return the value of a BOOLEAN field."""
        return self._values[self.schema._indexes[_BOOLEAN][name]]  # type: ignore[no-any-return]

    def get_string(self, name: str) -> str | None:
        """Return the value of a STRING field."""
        return self._values[self.schema._indexes[_STRING][name]]  # type: ignore[no-any-return]

    def get_bytes(self, name: str) -> bytes | None:
        """Return the value of a BYTES field."""
        return self._values[self.schema._indexes[_BYTES][name]]  # type: ignore[no-any-return]

    def get_array(self, name: str) -> list[Any] | None:
        """Return the value of an ARRAY field."""
        return self._values[self.schema._indexes[_ARRAY][name]]  # type: ignore[no-any-return]

    def get_map(self, name: str) -> dict[Any, Any] | None:
        """Return the value of a MAP field."""
        return self._values[self.schema._indexes[_MAP][name]]  # type: ignore[no-any-return]

    def get_struct(self, name: str) -> Struct | None:
        """Return the value of a STRUCT field."""
        return self._values[self.schema._indexes[_STRUCT][name]]  # type: ignore[no-any-return]

    def validate(self) -> None:
        """Raise a DataError when a field that needs a value has none, or one that does not fit."""
        # What was put did fit, and fits still unless it is or has in it a list or a map.
        if self.schema._is_lasting and None not in self._values:
            return
        for field, value in zip(self.schema.fields, self._values, strict=False):
            if value is not None or not (field.schema.optional or field.schema.default is not None):
                validate_value(field.schema, value, field.name)

    def _lookup(self, field: str | Field) -> Field:
        found = field if isinstance(field, Field) else self.schema._by_name.get(field)
        if found is None:
            raise DataError(f"{field} is not a valid field name")
        return found

    def __eq__(self, other: object) -> bool:
        """Compare schema and values deeply."""
        if not isinstance(other, Struct):
            return NotImplemented
        return self.schema == other.schema and deep_key(self._values) == deep_key(other._values)

    def __hash__(self) -> int:
        """Return a hash of schema and values."""
        return hash((self.schema, deep_key(self._values)))

    def __str__(self) -> str:
        """Return Kafka Connect's text, `Struct{a=1,b=x}`, unset fields left out."""
        pairs = zip(self.schema.fields, self._values, strict=True)
        present = [(field, value) for field, value in pairs if value is not None]
        parts = [f"{field.name}={java_text(value, field.schema)}" for field, value in present]
        return f"Struct{{{','.join(parts)}}}"

    __repr__ = __str__


def validate_value(schema: Schema, value: Any, field: str | None = None) -> None:
    """Raise a DataError unless the value fits the schema; `field` names the place in the message."""
    if value is None and schema.optional:
        return
    if type(value) is Struct and value.schema is schema:
        value.validate()
    elif type(value) is not schema._kind or not (schema._most is None or schema._least <= value <= schema._most):
        _validate(schema, value, "value" if field is None else f'field: "{field}"')


def _fit_plainly(schema: Schema, values: Collection[Any]) -> bool:
    """Tell whether all of several values are of just the class that fits, and within its range."""
    if schema._kind is None or not {schema._kind}.issuperset(map(type, values)):
        return False
    return schema._most is None or not values or schema._least <= min(values) <= max(values) <= schema._most


def is_logical(schema: Schema) -> bool:
    """Tell whether values of the schema are dates, times, timestamps or decimals in Python."""
    return schema.name in LOGICAL_KINDS


def _validate(schema: Schema, value: Any, place: str) -> None:
    if value is None:
        if not schema.optional:
            raise DataError(f"Invalid value: null used for required {place}, schema type: {schema.type}")
        return
    if schema.name in LOGICAL_KINDS:
        _check_logical(schema, value, place)
        return
    if schema.type is Type.STRUCT:
        _check_struct(schema, value, place)
        return
    if not isinstance(value, _PYTHON_TYPES[schema.type]):
        raise _wrong_class(schema, value, place)
    if schema._most is not None:
        _check_integer(schema, value, place, schema._most)
    elif schema.type is Type.ARRAY:
        _check_array(schema, value, place)
    elif schema.type is Type.MAP:
        _check_map(schema, value, place)


def _check_integer(schema: Schema, value: Any, place: str, most: int) -> None:
    if isinstance(value, bool):
        raise _wrong_class(schema, value, place)
    if not schema._least <= value <= most:
        raise DataError(f"Invalid value: {value} is out of range for {place}, schema type: {schema.type}")


def _check_logical(schema: Schema, value: Any, place: str) -> None:
    kind, expected = type(value), LOGICAL_KINDS[schema.name]
    if kind is not expected:
        # A datetime is a date to Python, but a moment is not a day.
        is_moment_for_day = expected is dt.date and isinstance(value, dt.datetime)
        if not isinstance(value, expected) or is_moment_for_day:
            raise _wrong_class(schema, value, place)
    if expected is dt.datetime and value.tzinfo is None:
        raise DataError(f"Invalid value: datetime without time zone used for {place}", hint="use UTC")


def _check_struct(schema: Schema, value: Any, place: str) -> None:
    if not isinstance(value, Struct):
        raise _wrong_class(schema, value, place)
    if value.schema is not schema and value.schema != schema:
        raise DataError("Struct schemas do not match.")
    value.validate()


def _check_array(schema: Schema, value: Any, place: str) -> None:
    entry_place = f"element of array {place}"
    entry_schema = _inner(schema.value_schema, entry_place)
    if not _fit_plainly(entry_schema, value):
        for entry in value:
            _validate(entry_schema, entry, entry_place)


def _check_map(schema: Schema, value: dict[Any, Any], place: str) -> None:
    key_place, value_place = f"key of map {place}", f"value of map {place}"
    key_schema, value_schema = _inner(schema.key_schema, key_place), _inner(schema.value_schema, value_place)
    if _fit_plainly(key_schema, value) and _fit_plainly(value_schema, value.values()):
        return
    for key, item in value.items():
        _validate(key_schema, key, key_place)
        _validate(value_schema, item, value_place)


def _inner(schema: Schema | None, place: str) -> Schema:
    if schema is None:
        raise DataError(f"No schema defined for {place}")
    return schema


def _wrong_class(schema: Schema, value: object, place: str) -> DataError:
    name = "" if schema.name is None else f' "{schema.name}"'
    found = f"{schema.type}: class {type(value).__qualname__}"
    return DataError(f"Invalid Python object for schema{name} with type {found} for {place}")
