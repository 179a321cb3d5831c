"""Structs, the values of struct schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api.errors import DataError
from hearth_api.schema import Field, Schema, Type, deep_key
from hearth_api.text import java_text
from hearth_api.validation import validate_value


class Struct:
    """A value with named fields; `put` checks every value against the schema of its field.

    Not thread-safe. A struct that already went into a record must not be changed any more.
    """

    __slots__ = ("_values", "schema")

    def __init__(self, schema: Schema) -> None:
        """Start with every field unset."""
        if schema.type is not Type.STRUCT:
            raise DataError(f"Not a struct schema: {schema!r}")
        self.schema = schema
        self._values: list[Any] = [None] * len(schema.fields)

    @classmethod
    def unchecked(cls, schema: Schema, values: Sequence[Any]) -> Struct:
        """Return a struct of values, one per field in order, that are known to fit the schema."""
        struct = cls.__new__(cls)
        struct.schema = schema
        struct._values = list(values)
        return struct

    def raw_values(self) -> tuple[Any, ...]:
        """Return the values as they were put, one per field in order, defaults not applied."""
        return tuple(self._values)

    def put(self, field: str | Field, value: Any) -> Struct:
        """Set a field and return the struct; a value that does not fit raises a DataError."""
        target = self._lookup(field)
        validate_value(target.schema, value, target.name)
        self._values[target.index] = value
        return self

    def get(self, field: str | Field) -> Any:
        """Return the value of a field, or the field's default when it is unset."""
        target = self._lookup(field)
        value = self._values[target.index]
        return target.schema.default if value is None else value

    def get_without_default(self, field: str | Field) -> Any:
        """Return the value of a field as it was put, None when it is unset."""
        return self._values[self._lookup(field).index]

    def get_int8(self, name: str) -> int | None:
        """Return the value of an INT8 field; like all typed getters it does not apply the default."""
        return self._typed(name, Type.INT8)  # type: ignore[no-any-return]

    def get_int16(self, name: str) -> int | None:
        """Return the value of an INT16 field."""
        return self._typed(name, Type.INT16)  # type: ignore[no-any-return]

    def get_int32(self, name: str) -> int | None:
        """Return the value of an INT32 field."""
        return self._typed(name, Type.INT32)  # type: ignore[no-any-return]

    def get_int64(self, name: str) -> int | None:
        """Return the value of an INT64 field."""
        return self._typed(name, Type.INT64)  # type: ignore[no-any-return]

    def get_float32(self, name: str) -> float | None:
        """Return the value of a FLOAT32 field."""
        return self._typed(name, Type.FLOAT32)  # type: ignore[no-any-return]

    def get_float64(self, name: str) -> float | None:
        """Return the value of a FLOAT64 field."""
        return self._typed(name, Type.FLOAT64)  # type: ignore[no-any-return]

    def get_boolean(self, name: str) -> bool | None:
        """Return the value of a BOOLEAN field."""
        return self._typed(name, Type.BOOLEAN)  # type: ignore[no-any-return]

    def get_string(self, name: str) -> str | None:
        """Return the value of a STRING field."""
        return self._typed(name, Type.STRING)  # type: ignore[no-any-return]

    def get_bytes(self, name: str) -> bytes | None:
        """Return the value of a BYTES field."""
        return self._typed(name, Type.BYTES)  # type: ignore[no-any-return]

    def get_array(self, name: str) -> list[Any] | None:
        """Return the value of an ARRAY field."""
        return self._typed(name, Type.ARRAY)  # type: ignore[no-any-return]

    def get_map(self, name: str) -> dict[Any, Any] | None:
        """Return the value of a MAP field."""
        return self._typed(name, Type.MAP)  # type: ignore[no-any-return]

    def get_struct(self, name: str) -> Struct | None:
        """Return the value of a STRUCT field."""
        return self._typed(name, Type.STRUCT)  # type: ignore[no-any-return]

    def validate(self) -> None:
        """Raise a DataError when a field that needs a value has none, or one that does not fit."""
        for field, value in zip(self.schema.fields, self._values, strict=False):
            if value is not None or not (field.schema.optional or field.schema.default is not None):
                validate_value(field.schema, value, field.name)

    def _lookup(self, field: str | Field) -> Field:
        if isinstance(field, Field):
            return field
        found = self.schema.field(field)
        if found is None:
            raise DataError(f"{field} is not a valid field name")
        return found

    def _typed(self, name: str, type_: Type) -> Any:
        field = self._lookup(name)
        if field.schema.type is not type_:
            raise DataError(f"Field '{name}' is not of type {type_}")
        return self._values[field.index]

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
