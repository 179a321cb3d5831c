"""Where the values of a struct stand, and what of them fits without a further look."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from hearth_api.errors import DataError

if TYPE_CHECKING:
    from hearth_api.schema import Field, Schema, Type
    from hearth_api.struct import Struct

_NEAR = 8
"""Names of so many fields are looked at one by one for the very object: that is done before a text is looked up."""


class FieldLayout:
    """The place of a field's value in a struct, with what its schema knows of plain values (`Schema`)."""

    __slots__ = ("default", "index", "kind", "least", "most", "name", "schema", "type")

    def __init__(self, field: Field) -> None:
        """Note what the field's schema says, once."""
        schema: Schema = field.schema
        self.index: int = field.index
        self.name: str = sys.intern(field.name)  # as the names are that stand in code
        self.schema: Schema = schema
        self.type: Type = schema.type
        self.default: Any = schema.default
        self.kind: Any = schema._kind
        self.least: int = schema._least
        self.most: int | None = schema._most


class StructLayout:
    """What every struct of a schema asks of it: where its fields stand, and what it has before it has values."""

    __slots__ = ("_by_name", "_fields", "_near", "is_lasting", "unset")

    def __init__(self, fields: Mapping[str, Field], is_lasting: bool) -> None:
        """Start with no place known; `Schema` says what is lasting."""
        self._fields = fields
        self._by_name: dict[str, FieldLayout] = {}
        self._near: list[FieldLayout] = []
        self.is_lasting: bool = is_lasting
        self.unset: list[Any] = [None] * len(fields)

    def place(self, field: str | Field) -> FieldLayout:
        """Return the place of a field; raises a DataError for a name that none has.

        Mostly it is one of few, and its name the very object that stands in the code of who asks.
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
    """What a `Schema` is to structs: what each of them asks for when it is made lies in it, compiled as they are."""

    __slots__ = ("_layout",)

    _layout: StructLayout | None


def layout_of(schema: SchemaBase) -> StructLayout:
    """Return what structs of a schema ask of it; raises a DataError where the type is another."""
    base = schema
    layout = base._layout
    if layout is None:
        layout = schema._layout  # a reference's, which is no part of the base
    if layout is None:
        raise DataError(f"Not a struct schema: {schema!r}")
    return layout


def is_struct(value: object) -> TypeGuard[Struct]:
    """Tell whether a value is a struct: its class says so, which stands above those who check values."""
    return getattr(type(value), "_is_struct", False)
