"""Structs, the values of struct schemas."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import Any, ClassVar

from hearth_api.errors import DataError, UnknownNameError
from hearth_api.python_value import fitted, members, plain_of
from hearth_api.schema import Field, Schema, Type, deep_key
from hearth_api.struct_layout import FieldLayout, StructLayout, layout_of
from hearth_api.text import java_text
from hearth_api.validation import validate_value

# Looking up an Enum member is slow.
(
    _INT8, _INT16, _INT32, _INT64, _FLOAT32, _FLOAT64, _BOOLEAN, _STRING, _BYTES, _ARRAY, _MAP, _STRUCT,
) = Type  # fmt: skip


class Struct:
    """A value with named fields; `put` checks every value against the schema of its field.

    It reads like a mapping of names to values, with defaults for unset fields: `struct["id"]`, `"id" in struct`,
    `dict(struct)`. It is not a `collections.abc.Mapping`, because maps are a different kind of value, and it is always
    true. Not thread-safe. Do not change a struct once a record holds it.
    """

    __slots__ = ("_layout", "_values", "schema")

    _is_struct: ClassVar[bool] = True
    schema: Schema
    _layout: StructLayout
    _values: list[Any]

    def __init__(self, schema: Schema, /, **values: Any) -> None:
        """Put the given values; all other fields are unset."""
        self.schema = schema
        self._layout = layout_of(schema)
        self._values = self._layout.unset[:]
        if values:
            self._put_all(values)

    @classmethod
    def of(cls, schema: Schema, source: Any) -> Struct:
        """Return a struct of the members of a mapping or dataclass instance; nested ones become structs.

        Enum members, UUIDs, sets, ints in float fields and decimals of another scale are converted to what the schema
        uses (see `Schema.of`). An unknown member, a value that does not fit, or a missing member whose field is
        required and has no default raises a DataError.
        """
        parts = members(source)
        if parts is None:
            raise DataError(f"a struct is made of a mapping or a dataclass instance, not {type(source).__qualname__}")
        struct = cls(schema)
        struct._put_all({name: struct._fit(name, parts[name]) for name in parts})
        struct.validate()
        return struct

    def _fit(self, name: str, value: Any) -> Any:
        field = self._layout._fields.get(name)
        return value if field is None else fitted(field.schema, value, Struct.of)

    def _put_all(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            if name not in self._layout._fields:
                raise self._unknown(name)
            self.put(name, value)

    def _unknown(self, name: Any) -> UnknownNameError:
        return UnknownNameError(self.schema.name or "the struct", "field", name, (*self._layout._fields,))

    @classmethod
    def unchecked(cls, schema: Schema, values: Sequence[Any]) -> Struct:
        """Return a struct of values known to fit the schema, one per field in order, without checking them."""
        struct = cls.__new__(cls)
        struct._take(schema, list(values))
        return struct

    def _take(self, schema: Schema, values: list[Any]) -> None:
        self.schema = schema
        self._layout = layout_of(schema)
        self._values = values

    def raw_values(self) -> tuple[Any, ...]:
        """Return the values as put, one per field in order, without defaults."""
        return tuple(self._values)

    def put(self, field: str | Field, value: Any) -> Struct:
        """Set a field and return the struct; a value that does not fit raises a DataError."""
        place = self._layout.place(field)
        # Inlines the first check of `validate_value`, to save the call.
        if type(value) is not place.kind or not (place.most is None or place.least <= value <= place.most):
            _validate(place, value)
        self._values[place.index] = value
        return self

    def get(self, field: str | Field) -> Any:
        """Return the value of a field, or the field's default if it is unset."""
        place = self._layout.place(field)
        value = self._values[place.index]
        return place.default if value is None else value

    def __getitem__(self, name: str) -> Any:
        """Return the value of a field as `get` does; an unknown name raises a KeyError (and DataError)."""
        if name not in self._layout._fields:
            raise self._unknown(name)
        return self.get(name)

    def __contains__(self, name: object) -> bool:
        """Return whether the schema has a field of the name, set or not."""
        return name in self._layout._fields

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the fields, in order."""
        return iter(self._layout._fields)

    def __len__(self) -> int:
        """Return how many fields the schema has."""
        return len(self._values)

    def __bool__(self) -> bool:
        """Return True: a struct without fields is a value too."""
        return True

    def keys(self) -> KeysView[str]:
        """Return the names of the fields, in order."""
        return self._layout._fields.keys()

    def values(self) -> ValuesView[Any]:
        """Return the values of the fields, in order, as `get` does."""
        return self._members().values()

    def items(self) -> ItemsView[str, Any]:
        """Return the names of the fields with their values, in order, as `get` does."""
        return self._members().items()

    def to_dict(self) -> dict[str, Any]:
        """Return the members as a dict, with nested structs as dicts too, including those in lists and maps."""
        plain: dict[str, Any] = plain_of(self)
        return plain

    def _members(self) -> dict[str, Any]:
        pairs = zip(self._layout._fields.values(), self._values)
        return {field.name: field.schema.default if value is None else value for field, value in pairs}

    def get_without_default(self, field: str | Field) -> Any:
        """Return the value of a field as put, None if it is unset."""
        return self._values[self._layout.place(field).index]

    def get_int8(self, name: str) -> int | None:
        """Return the value of an INT8 field; like all typed getters it does not apply the default."""
        return self._get_typed(name, _INT8)  # type: ignore[no-any-return]

    def get_int16(self, name: str) -> int | None:
        """Return the value of an INT16 field."""
        return self._get_typed(name, _INT16)  # type: ignore[no-any-return]

    def get_int32(self, name: str) -> int | None:
        """Return the value of an INT32 field."""
        return self._get_typed(name, _INT32)  # type: ignore[no-any-return]

    def get_int64(self, name: str) -> int | None:
        """Return the value of an INT64 field."""
        return self._get_typed(name, _INT64)  # type: ignore[no-any-return]

    def get_float32(self, name: str) -> float | None:
        """Return the value of a FLOAT32 field."""
        return self._get_typed(name, _FLOAT32)  # type: ignore[no-any-return]

    def get_float64(self, name: str) -> float | None:
        """Return the value of a FLOAT64 field."""
        return self._get_typed(name, _FLOAT64)  # type: ignore[no-any-return]

    def get_boolean(self, name: str) -> bool | None:
        """Return the value of a BOOLEAN field."""
        return self._get_typed(name, _BOOLEAN)  # type: ignore[no-any-return]

    def get_string(self, name: str) -> str | None:
        """Return the value of a STRING field."""
        return self._get_typed(name, _STRING)  # type: ignore[no-any-return]

    def get_bytes(self, name: str) -> bytes | None:
        """Return the value of a BYTES field."""
        return self._get_typed(name, _BYTES)  # type: ignore[no-any-return]

    def get_array(self, name: str) -> list[Any] | None:
        """Return the value of an ARRAY field."""
        return self._get_typed(name, _ARRAY)  # type: ignore[no-any-return]

    def get_map(self, name: str) -> dict[Any, Any] | None:
        """Return the value of a MAP field."""
        return self._get_typed(name, _MAP)  # type: ignore[no-any-return]

    def get_struct(self, name: str) -> Struct | None:
        """Return the value of a STRUCT field."""
        return self._get_typed(name, _STRUCT)  # type: ignore[no-any-return]

    def _get_typed(self, name: str, type_: Type) -> Any:
        place = self._layout.place(name)
        if place.type is not type_:
            raise DataError(f"Field '{name}' is not of type {type_}")
        return self._values[place.index]

    def validate(self) -> None:
        """Raise a DataError if a required field has no value, or a value does not fit."""
        if self._is_lasting():
            return
        for field, value in zip(self.schema.fields, self._values, strict=False):
            if value is not None or not (field.schema.optional or field.schema.default is not None):
                validate_value(field.schema, value, field.name)

    def _is_lasting(self) -> bool:
        """Return whether each field has a value that cannot have become invalid; lists and maps can."""
        if not self._layout.is_lasting:
            return False
        # `None in list` would call each value's own equality.
        for value in self._values:  # noqa: SIM110
            if value is None:
                return False
        return True

    def __eq__(self, other: object) -> bool:
        """Compare schema and values deeply."""
        if not isinstance(other, Struct):
            return NotImplemented
        return self.schema == other.schema and deep_key(self._values) == deep_key(other._values)

    def __hash__(self) -> int:
        """Return a hash of schema and values."""
        return hash((self.schema, deep_key(self._values)))

    def __str__(self) -> str:
        """Return Kafka Connect's text, `Struct{a=1,b=x}`, without unset fields."""
        pairs = zip(self.schema.fields, self._values, strict=True)
        present = [(field, value) for field, value in pairs if value is not None]
        parts = [f"{field.name}={java_text(value, field.schema)}" for field, value in present]
        return f"Struct{{{','.join(parts)}}}"

    def __repr__(self) -> str:
        """Return the schema's name and the values as put: `Struct(Order, id=1, note=None)`."""
        parts = [f"{name}={value!r}" for name, value in zip(self._layout._fields, self._values)]
        return f"Struct({', '.join(parts if self.schema.name is None else [self.schema.name, *parts])})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as schema and values."""
        return type(self).unchecked, (self.schema, self._values)


def structs(schema: Schema, rows: Iterable[Sequence[Any]]) -> list[Struct]:
    """Return a struct for each row of values known to fit the schema, as `Struct.unchecked` does."""
    made = []
    for row in rows:
        struct = Struct.__new__(Struct)
        struct._take(schema, [*row])
        made.append(struct)
    return made


def rows_of(values: Iterable[Struct | None], nothing: Sequence[None]) -> list[Sequence[Any]]:
    """Return the values of structs as put, read-only; `nothing` for None."""
    return [nothing if struct is None else struct._values for struct in values]


def schemas_of(values: Iterable[Struct]) -> list[Schema]:
    """Return the schemas of structs."""
    return [struct.schema for struct in values]


def _validate(place: FieldLayout, value: Any) -> None:
    if type(value) is Struct:
        struct: Struct = value
        if struct.schema is place.schema and struct._is_lasting():
            return
    validate_value(place.schema, value, place.name)
