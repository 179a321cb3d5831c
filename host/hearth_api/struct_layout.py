"""Where the values of a struct stand, and what of them fits without a further look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hearth_api.errors import DataError

if TYPE_CHECKING:
    from hearth_api.schema import Field, Schema, Type


class FieldLayout:
    """The place of a field's value in a struct, with what its schema knows of plain values (`Schema`)."""

    __slots__ = ("default", "index", "kind", "least", "most", "name", "schema", "type")

    def __init__(self, field: Field) -> None:
        """Note what the field's schema says, once."""
        schema: Schema = field.schema
        self.index: int = field.index
        self.name: str = field.name
        self.schema: Schema = schema
        self.type: Type = schema.type
        self.default: Any = schema.default
        self.kind: Any = schema._kind
        self.least: int = schema._least
        self.most: int | None = schema._most


class StructLayout:
    """What every struct of a schema asks of it: where its fields stand, and what it has before it has values."""

    __slots__ = ("_fields", "by_name", "is_lasting", "unset")

    def __init__(self, fields: Mapping[str, Field], is_lasting: bool) -> None:
        """Start with no place known; `Schema` says what is lasting."""
        self._fields = fields
        self.by_name: dict[str | Field, FieldLayout] = {}
        self.is_lasting: bool = is_lasting
        self.unset: list[Any] = [None] * len(fields)

    def find(self, field: str | Field) -> FieldLayout:
        """Return the place of a field that is not in `by_name`, which then has it if it is a name of one."""
        if not isinstance(field, str):
            return FieldLayout(field)
        if field not in self._fields:
            raise DataError(f"{field} is not a valid field name")
        place = self.by_name[field] = FieldLayout(self._fields[field])
        return place


class StructBase:
    """What a `Struct` is to those who check values: they stand below it."""

    __slots__ = ("schema",)

    schema: Schema

    def raw_values(self) -> tuple[Any, ...]:
        """Return the values as they are, one per field in order."""
        raise NotImplementedError

    def validate(self) -> None:
        """Raise a DataError when a value does not fit its field."""
        raise NotImplementedError
