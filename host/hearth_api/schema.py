"""Schemas describe values in Kafka Connect's type system."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn

from hearth_api.errors import DataError
from hearth_api.struct_layout import SchemaBase, StructLayout, is_struct


class Type(Enum):
    """The types of a schema; the value is Kafka Connect's name of the type."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    # Members are singletons; Enum's default hash rehashes the name at every lookup.
    __hash__ = object.__hash__

    @property
    def is_primitive(self) -> bool:
        """Return whether values of the type have no parts."""
        return self not in (Type.ARRAY, Type.MAP, Type.STRUCT)

    def __str__(self) -> str:
        """Return the upper-case name that Kafka Connect's messages use."""
        return self.name


LOGICAL_KINDS: dict[str | None, type] = {
    "org.apache.kafka.connect.data.Decimal": Decimal,
    "org.apache.kafka.connect.data.Date": dt.date,
    "org.apache.kafka.connect.data.Time": dt.time,
    "org.apache.kafka.connect.data.Timestamp": dt.datetime,
}
"""The class of values of each logical type, by schema name."""
INTEGER_RANGES: dict[Type, tuple[int, int]] = {
    type_: (-(1 << bits), (1 << bits) - 1)
    for type_, bits in ((Type.INT8, 7), (Type.INT16, 15), (Type.INT32, 31), (Type.INT64, 63))
}
"""The minimum and maximum of each integer type."""
_NOTHING_PLAIN = (None, 0, None)
_PLAIN: dict[Type, tuple[Any, int, int | None]] = {
    **dict.fromkeys(Type, _NOTHING_PLAIN),
    **{type_: (int, *limits) for type_, limits in INTEGER_RANGES.items()},
    Type.FLOAT32: (float, 0, None),
    Type.FLOAT64: (float, 0, None),
    Type.BOOLEAN: (bool, 0, None),
    Type.STRING: (str, 0, None),
    Type.BYTES: (bytes, 0, None),
}
"""For each type, the class whose direct instances fit, and their range, if any."""
_LOGICAL_PLAIN = {
    # A datetime without a time zone does not fit.
    name: _NOTHING_PLAIN if kind is dt.datetime else (kind, 0, None)
    for name, kind in LOGICAL_KINDS.items()
}
_PARTS = (
    "type_", "optional", "default", "name", "version", "doc", "parameters", "fields", "key_schema", "value_schema",
)  # fmt: skip
"""The constructor's arguments, in order."""
_LEVELS = {Type.ARRAY: 1, Type.MAP: 2}
_STRUCT = Type.STRUCT  # looking up an Enum member is slow


@dataclass(frozen=True)
class Field:
    """One field of a struct schema."""

    name: str
    index: int
    schema: Schema


class Schema(SchemaBase):
    """An immutable description of a value; schemas are equal if all parts are equal, documentation included.

    Use the constants (`STRING_SCHEMA`, `OPTIONAL_INT64_SCHEMA`, ...) or a `SchemaBuilder`. `None` means no schema. An
    array or map whose inner schema is None holds values of mixed types.
    """

    __slots__ = (
        "_by_name", "_fields", "_hash", "_is_lasting", "_key_schema", "_kind", "_least", "_levels", "_most",
        "_value_schema", "default", "doc", "name", "optional", "parameters", "type", "version",
    )  # fmt: skip

    type: Type
    optional: bool
    default: Any
    name: str | None
    version: int | None
    doc: str | None
    parameters: Mapping[str, str] | None
    _fields: tuple[Field, ...]
    _by_name: dict[str, Field]
    _kind: Any
    """The class whose direct instances fit if they are within the range."""
    _least: int
    _most: int | None
    """The range of integers; `most` is None for other types."""
    _is_lasting: bool
    """Whether a fitting value always stays fitting, because it contains no list or map."""
    _levels: int
    """The nesting depth of its Arrow column type; a map counts as two, since it is a list of structs."""
    is_reference: ClassVar[bool] = False
    """Whether it is a `SchemaReference`, which refers to an enclosing struct."""
    _reader: ClassVar[Callable[[Any], Schema]]
    """`python_type.schema_of`, set when the package loads, since that module imports this one."""

    def __init__(
        self,
        type_: Type,
        optional: bool = False,
        default: Any = None,
        name: str | None = None,
        version: int | None = None,
        doc: str | None = None,
        parameters: Mapping[str, str] | None = None,
        fields: Sequence[Field] = (),
        key_schema: Schema | None = None,
        value_schema: Schema | None = None,
    ) -> None:
        """Store the parts unchecked; a `SchemaBuilder` checks them."""
        put = object.__setattr__
        put(self, "type", type_)
        put(self, "optional", optional)
        put(self, "default", default)
        put(self, "name", name)
        put(self, "version", version)
        put(self, "doc", doc)
        put(self, "parameters", MappingProxyType(dict(parameters)) if parameters else None)
        put(self, "_fields", tuple(fields))
        put(self, "_by_name", {field.name: field for field in fields})
        put(self, "_key_schema", key_schema)
        put(self, "_value_schema", value_schema)
        put(self, "_hash", None)
        kind, least, most = _LOGICAL_PLAIN.get(name) or _PLAIN[type_]
        put(self, "_kind", kind)
        put(self, "_least", least)
        put(self, "_most", most)
        self._prepare()

    def _prepare(self) -> None:
        """Precompute what every struct needs."""
        put, fields = object.__setattr__, self._fields
        if self.type is not _STRUCT:
            put(self, "_layout", None)
            put(self, "_is_lasting", self.type is not Type.ARRAY and self.type is not Type.MAP)
            parts = (self._key_schema, self._value_schema)  # type: ignore[attr-defined]
            inner = max([0 if part is None else part._levels for part in parts])
            put(self, "_levels", inner + _LEVELS.get(self.type, 0))
            return
        put(self, "_levels", 1 + max([field.schema._levels for field in fields], default=0))
        put(self, "_is_lasting", False not in [field.schema._is_lasting for field in fields])
        put(self, "_layout", StructLayout(self._by_name, self._is_lasting))

    @classmethod
    def of(cls, kind: Any) -> Schema:
        """Return the schema of a dataclass, a TypedDict or another Python type: `Schema.of(Order)`.

        A class becomes a struct of its name, at any depth, even inside itself. `X | None` and TypedDict members that
        are not required are optional; field defaults become schema defaults. int and float have 64 bits; an Enum, a
        Literal of texts and a UUID are strings; datetime, date and time are Connect's logical types. A Decimal has the
        scale of `Annotated[Decimal, 2]`, else of its default, else 9. `Annotated[int, INT32_SCHEMA]` sets any other
        schema. A type without a schema raises a SchemaBuilderError. `Struct.of` makes values for it.
        """
        return cls._reader(kind)

    @property
    def fields(self) -> tuple[Field, ...]:
        """Return the fields of a struct schema, in order; any other type raises a DataError."""
        if self.type is not Type.STRUCT:
            raise DataError("Cannot list fields on non-struct type")
        return self._fields

    def field(self, name: str) -> Field | None:
        """Return the field of that name of a struct schema, or None."""
        if self.type is not Type.STRUCT:
            raise DataError("Cannot look up fields on non-struct type")
        return self._by_name.get(name)

    @property
    def key_schema(self) -> Schema | None:
        """Return the schema of a map's keys."""
        if self.type is not Type.MAP:
            raise DataError("Cannot look up key schema on non-map type")
        schema: Schema | None = self._key_schema  # type: ignore[attr-defined]
        return schema

    @property
    def value_schema(self) -> Schema | None:
        """Return the schema of a map's values or of an array's elements."""
        if self.type is not Type.MAP and self.type is not Type.ARRAY:
            raise DataError("Cannot look up value schema on non-array and non-map type")
        schema: Schema | None = self._value_schema  # type: ignore[attr-defined]
        return schema

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Raise, since schemas are shared."""
        raise AttributeError(f"a schema cannot be changed: {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        """Raise, since schemas are shared."""
        raise AttributeError(f"a schema cannot be changed: {name!r}")

    def __eq__(self, other: object) -> bool:
        """Compare deeply, as Kafka Connect does."""
        if self is other:
            return True
        if not isinstance(other, Schema):
            return NotImplemented
        return hash(self) == hash(other) and self._facts() == other._facts()

    def __hash__(self) -> int:
        """Return the hash, computed once."""
        known: int | None = self._hash  # type: ignore[attr-defined]
        if known is None:
            known = hash(self._facts())
            object.__setattr__(self, "_hash", known)
        return known

    def _facts(self) -> tuple[Any, ...]:
        parameters = None if self.parameters is None else frozenset(self.parameters.items())
        return (
            self.type, self.optional, self.version, self.name, self.doc, deep_key(self.default), parameters,
            self._fields, self._key_schema, self._value_schema,  # type: ignore[attr-defined]
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy as the constructor's arguments."""
        parameters = None if self.parameters is None else dict(self.parameters)
        return Schema, (
            self.type, self.optional, self.default, self.name, self.version, self.doc, parameters,
            self._fields, self._key_schema, self._value_schema,  # type: ignore[attr-defined]
        )  # fmt: skip

    def replaced(self, **parts: Any) -> Schema:
        """Return the schema with some of the constructor's arguments changed: `schema.replaced(optional=True)`."""
        return Schema(**{**self._parts(), **parts})

    def _parts(self) -> dict[str, Any]:
        _, values = self.__reduce__()
        return dict(zip(_PARTS, values))

    def __repr__(self) -> str:
        """Return Kafka Connect's short text of a schema."""
        return f"Schema{{{self.name}:{self.type}}}" if self.name is not None else f"Schema{{{self.type}}}"


def deep_key(value: Any) -> Any:
    """Return a hashable key for a value; two values have equal keys if Kafka Connect considers them equal.

    Unlike Python's equality, NaN equals itself, and decimals 1.0 and 1.00 differ.
    """
    if value is None or isinstance(value, (str, int, bytes)):
        return value
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, Decimal):
        return ("decimal", value.as_tuple())
    if isinstance(value, (list, tuple)):
        return tuple(deep_key(item) for item in value)
    if isinstance(value, Mapping):
        return frozenset((deep_key(key), deep_key(item)) for key, item in value.items())
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if is_struct(value):
        return ("struct", value.schema, deep_key(value.raw_values()))
    return value


INT8_SCHEMA = Schema(Type.INT8)
INT16_SCHEMA = Schema(Type.INT16)
INT32_SCHEMA = Schema(Type.INT32)
INT64_SCHEMA = Schema(Type.INT64)
FLOAT32_SCHEMA = Schema(Type.FLOAT32)
FLOAT64_SCHEMA = Schema(Type.FLOAT64)
BOOLEAN_SCHEMA = Schema(Type.BOOLEAN)
STRING_SCHEMA = Schema(Type.STRING)
BYTES_SCHEMA = Schema(Type.BYTES)
OPTIONAL_INT8_SCHEMA = Schema(Type.INT8, optional=True)
OPTIONAL_INT16_SCHEMA = Schema(Type.INT16, optional=True)
OPTIONAL_INT32_SCHEMA = Schema(Type.INT32, optional=True)
OPTIONAL_INT64_SCHEMA = Schema(Type.INT64, optional=True)
OPTIONAL_FLOAT32_SCHEMA = Schema(Type.FLOAT32, optional=True)
OPTIONAL_FLOAT64_SCHEMA = Schema(Type.FLOAT64, optional=True)
OPTIONAL_BOOLEAN_SCHEMA = Schema(Type.BOOLEAN, optional=True)
OPTIONAL_STRING_SCHEMA = Schema(Type.STRING, optional=True)
OPTIONAL_BYTES_SCHEMA = Schema(Type.BYTES, optional=True)
