"""Checks columns that a DataFrame's schema declares NOT NULL: Spark trusts that, and fails at a null or ignores it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from hearth_api import ConnectError


class NullFound(ConnectError):
    """A record has a null in a NOT NULL column of the DataFrame."""

    code = "datasource.null"
    hint = "make it nullable in the .schema(...) of the read"


class NotNull:
    """The columns of a schema, and parts of them, that must not have nulls."""

    def __init__(self, schema: pa.Schema) -> None:
        self._fields = [(place, field) for place, field in enumerate(schema) if _is_concerned(field)]

    def check(self, columns: Sequence[Any]) -> None:
        """Raise NullFound if one of the columns, in the schema's order, has a forbidden null."""
        for number, field in self._fields:
            place = _place(columns[number], field, field.name)
            if place is not None:
                raise NullFound(f"a record has null as {place}, which is NOT NULL in the DataFrame")


def _is_concerned(field: pa.Field) -> bool:
    return not field.nullable or any(map(_is_concerned, _parts(field.type)))


def _parts(type_: pa.DataType) -> list[pa.Field]:
    if pa.types.is_map(type_):
        return [type_.item_field]  # keys are never null
    if pa.types.is_list(type_):
        return [type_.value_field]
    return list(type_) if pa.types.is_struct(type_) else []


def _place(column: Any, field: pa.Field, where: str) -> str | None:
    """Return the place of a forbidden null in a column, or None; parts of a null value do not count."""
    if column.null_count:
        if not field.nullable:
            return where
        column = column.drop_null()
    for part in filter(_is_concerned, _parts(field.type)):
        name = f"{where}.{part.name}" if pa.types.is_struct(field.type) else f"{where}[]"
        if (place := _place(_inside(column, part.name), part, name)) is not None:
            return place
    return None


def _inside(column: Any, name: str) -> Any:
    if pa.types.is_struct(column.type):
        return column.field(name)
    if not pa.types.is_map(column.type):
        return column.flatten()
    ends = column.offsets  # those of a slice; items are those of the whole array
    return column.items.slice(ends[0].as_py(), ends[-1].as_py() - ends[0].as_py())
