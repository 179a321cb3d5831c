"""The position of each field in a struct, and which of its values fit without further checks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from hearth_api.errors import DataError

if TYPE_CHECKING:
    from hearth_api.schema import Field, Schema, Type
    from hearth_api.struct import Struct

_NEAR = 8
"""Up to this many recent fields are compared by identity first, which is faster than a dict lookup."""


class FieldLayout:
    """The index of a field's value in a struct, with its schema's class and range of plain values."""

    __slots__ = ("default", "index", "kind", "least", "most", "name", "schema", "type")

    def __init__(self, field: Field) -> None:
        """Copy what the checks need from the field's schema."""
        schema: Schema = field.schema
        self.index: int = field.index
        self.name: str = sys.intern(field.name)  # as names in code are
        self.schema: Schema = schema
        self.type: Type = schema.type
        self.default: Any = schema.default
        self.kind: Any = schema._kind
        self.least: int = schema._least
        self.most: int | None = schema._most


class StructLayout:
    """What all structs of a schema share: the positions of the fields, and the values of a new struct."""

    __slots__ = ("_by_name", "_fields", "_near", "is_lasting", "unset")

    def __init__(self, fields: Mapping[str, Field], is_lasting: bool) -> None:
        """Start with no field looked up; `is_lasting` is the schema's."""
        self._fields = fields
        self._by_name: dict[str, FieldLayout] = {}
        self._near: list[FieldLayout] = []
        self.is_lasting: bool = is_lasting
        self.unset: list[Any] = [None] * len(fields)

    def place(self, field: str | Field) -> FieldLayout:
        """Return the layout of a field; raises a DataError for an unknown name.

        Usually it is one of few fields, and the name is the interned string of the caller's code.
        """
        for known in self._near:
            if known.name is field:
                return known
        return self._found(field)

    def _found(self, field: str | Field) -> FieldLayout:
        if not isinstance(field, str):
            return FieldLayout(field)
        known = self._by_name.get(field)
        if known is None:
            if field not in self._fields:
                raise DataError(f"{field} is not a valid field name")
            known = self._by_name[field] = FieldLayout(self._fields[field])
            if len(self._near) < _NEAR:
                self._near.append(known)
        return known


class SchemaBase:
    """The compiled base of `Schema`: holds the layout, which every new struct reads."""

    __slots__ = ("_layout",)

    _layout: StructLayout | None


def layout_of(schema: SchemaBase) -> StructLayout:
    """Return the layout of a struct schema; raises a DataError for another type."""
    base = schema
    layout = base._layout
    if layout is None:
        layout = schema._layout  # a reference's, which is a property of `SchemaReference`
    if layout is None:
        raise DataError(f"Not a struct schema: {schema!r}")
    return layout


def is_struct(value: object) -> TypeGuard[Struct]:
    """Return whether a value is a struct, without importing `struct`, which imports the modules that check values."""
    return getattr(type(value), "_is_struct", False)
