"""Derives schemas from Python types: dataclasses, TypedDicts and the types in their annotations."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import types
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from hearth_api.builder import SchemaBuilder
from hearth_api.errors import SchemaBuilderError
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.python_value import fitted
from hearth_api.schema import Schema
from hearth_api.struct import Struct
from hearth_api.validation import validate_value

DEFAULT_SCALE = 9
"""The scale of decimals whose annotation and default give none."""
_UNION = (Union, types.UnionType)
_MISSING: Any = dataclasses.MISSING
_EMPTY = (list, dict, set, tuple, frozenset)
"""Default factories that always return the same value; any other factory gives no default."""
_IS_REQUIRED = {getattr(typing, "Required", None): True, getattr(typing, "NotRequired", None): False}

_BUILDERS: dict[Any, Any] = {
    bool: SchemaBuilder.boolean,
    int: SchemaBuilder.int64,
    float: SchemaBuilder.float64,
    str: SchemaBuilder.string,
    bytes: SchemaBuilder.bytes,
    UUID: SchemaBuilder.string,
    dt.datetime: Timestamp.builder,
    dt.date: Date.builder,
    dt.time: Time.builder,
}


@lru_cache(maxsize=1000)
def schema_of(kind: Any) -> Schema:
    """Return the schema of a type; see `Schema.of`."""
    return _Reading().schema(kind, getattr(kind, "__name__", str(kind)))


class _Reading:
    """Reads one type; keeps the structs being read, so that a struct inside itself becomes a reference."""

    def __init__(self) -> None:
        self._open: dict[Any, SchemaBuilder] = {}

    def schema(self, kind: Any, place: str, default: Any = _MISSING, is_optional: bool = False) -> Schema:
        """Return the schema of an annotation; `place` names it in errors."""
        notes: tuple[Any, ...] = ()
        while True:
            origin, args = get_origin(kind), get_args(kind)
            if origin is Annotated:
                kind, notes = args[0], (*notes, *args[1:])
            elif origin in _IS_REQUIRED and origin is not None:
                (kind,), is_optional = args, is_optional or not _IS_REQUIRED[origin]
            elif origin in _UNION and type(None) in args and len(args) == 2:
                kind, is_optional = next(arg for arg in args if arg is not type(None)), True
            elif hasattr(kind, "__supertype__"):
                kind = kind.__supertype__
            else:
                break
        if kind in self._open:
            return self._open[kind].itself(optional=is_optional)
        given = next((note for note in notes if isinstance(note, Schema)), None)
        schema = self._builder(kind, notes, place, default).build() if given is None else given
        return _with(schema, default, is_optional)

    def _builder(self, kind: Any, notes: Sequence[Any], place: str, default: Any) -> SchemaBuilder:
        if kind is decimal.Decimal:
            return Decimal.builder(_scale(notes, default))
        if isinstance(kind, type) and issubclass(kind, Enum):
            return SchemaBuilder.string()
        if dataclasses.is_dataclass(kind) or hasattr(kind, "__required_keys__"):
            return self._struct(kind, place)
        if kind in _BUILDERS:
            return typing.cast("SchemaBuilder", _BUILDERS[kind]())
        return self._container(kind, place)

    def _container(self, kind: Any, place: str) -> SchemaBuilder:
        origin, args = get_origin(kind), get_args(kind)
        if origin is Literal and len(set(map(type, args))) == 1:
            return self._builder(type(args[0]), (), place, _MISSING)
        if isinstance(origin, type):
            if issubclass(origin, Mapping) and len(args) == 2:
                key, value = (self.schema(arg, f"{place}[{part}]") for arg, part in zip(args, ("key", "value")))
                return SchemaBuilder.map(key, value)
            if issubclass(origin, (Sequence, Set)) and (len(args) == 1 or args[1:] == (Ellipsis,)):
                return SchemaBuilder.array(self.schema(args[0], f"{place}[]"))
        raise SchemaBuilderError(
            f"{place} is of type {kind!r}, which has no schema",
            hint="annotate it with a schema, as in Annotated[int, INT32_SCHEMA]",
        )

    def _struct(self, kind: Any, place: str) -> SchemaBuilder:
        builder = SchemaBuilder.struct().name(kind.__name__)
        self._open[kind] = builder
        try:
            hints = get_type_hints(kind, include_extras=True)
        except NameError as error:
            raise SchemaBuilderError(f"{place} has an annotation that cannot be read: {error}") from error
        for name, default, is_optional in _fields(kind):
            builder.field(name, self.schema(hints[name], f"{place}.{name}", default, is_optional))
        del self._open[kind]
        return builder


def _fields(kind: Any) -> Iterator[tuple[str, Any, bool]]:
    """Yield the name of each member, its default, and whether a member without default may be omitted."""
    if not dataclasses.is_dataclass(kind):
        for name in kind.__annotations__:
            yield name, _MISSING, name not in kind.__required_keys__
        return
    for field in dataclasses.fields(kind):
        made: Any = field.default_factory
        yield field.name, made() if made in _EMPTY else field.default, False


def _with(schema: Schema, default: Any, is_optional: bool) -> Schema:
    """Return a schema with the default and optionality of a field."""
    parts: dict[str, Any] = {"optional": True} if is_optional and not schema.optional else {}
    if default is not _MISSING and default is not None:
        parts["default"] = fitted(schema, default, Struct.of)
        validate_value(schema, parts["default"])
    return schema.replaced(**parts) if parts else schema


def _scale(notes: Sequence[Any], default: Any) -> int:
    for note in notes:
        if type(note) is int:
            return note
    if isinstance(default, decimal.Decimal) and isinstance(exponent := default.as_tuple().exponent, int):
        return max(0, -exponent)
    return DEFAULT_SCALE


Schema._reader = staticmethod(schema_of)
