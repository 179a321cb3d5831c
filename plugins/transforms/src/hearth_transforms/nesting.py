"""Nested fields: applies a transformation to structs or maps inside others.

A transformation defines an `Alteration` of the fields of one struct or map. A path such as `a.b.c` (version V2 of the
syntax, KIP-821) names the field c of a.b: the alteration is applied to a.b, and the enclosing values are rebuilt. A
missing or null struct or map is not altered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from hearth_api import ConnectRecord, Schema, Struct, Type
from hearth_api.batch import Batch, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.field_path import FieldPath
from hearth_transforms.plugin import FieldPlugin
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.row_error import RowErrors
from hearth_transforms.side import R, Side

if TYPE_CHECKING:
    from hearth_api.layout import Moves
    from hearth_transforms.plain_column import MapUse
    from hearth_transforms.plain_making import AddedColumns

T = TypeVar("T")
Place = tuple[str, ...]
"""The path of a struct or map; empty for the whole key or value."""


class Alteration(ABC):
    """The change of one struct or map, with access to its record or batch."""

    @abstractmethod
    def schema(self, schema: Schema) -> Schema:
        """Return the schema of the altered structs."""

    @abstractmethod
    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        """Return the altered struct, with the altered schema."""

    @abstractmethod
    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        """Return the altered map; for a batch, `record` is the row's `AddedColumns` entry.

        For rows of one layout it is called once, with a `ScalarColumn` for each scalar.
        """

    def moves(self, record: Any) -> Moves | None:
        """Return the member moves if they are the same for all records of a topic, else None."""
        return None

    @property
    def touched(self) -> Collection[str]:
        """Return the members that the alteration reads or replaces in a copy of the map, if it does nothing else."""
        return ()

    def use(self, record: Any) -> MapUse:
        """Return what it does with maps, given the `AddedColumns` entry of a row."""
        from hearth_transforms.plain_column import MapUse

        return MapUse(moves=self.moves(record), touched=self.touched)

    @abstractmethod
    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        """Return the altered field columns of non-null structs, with the altered schema.

        None falls back to the records.
        """


class _Within(Alteration):
    """Alters the value of a field."""

    def __init__(self, name: str, inner: Alteration, purpose: str) -> None:
        self._name, self._inner, self._purpose = name, inner, purpose

    def schema(self, schema: Schema) -> Schema:
        field = schema.field(self._name)
        if field is None or field.schema.type is not Type.STRUCT:
            return schema
        altered = self._inner.schema(field.schema)
        if altered == field.schema:
            return schema
        fields = list(schema.fields)
        altered = altered.replaced(optional=field.schema.optional)
        fields[field.index] = type(field)(field.name, field.index, altered)
        return Schema(
            schema.type, schema.optional, None, schema.name, schema.version, schema.doc, schema.parameters, fields
        )

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        values, field = list(struct.raw_values()), struct.schema.field(self._name)
        if field is not None and values[field.index] is not None:
            inner = require_struct(values[field.index], self._purpose, field.schema)
            values[field.index] = self._inner.struct(inner, updated.fields[field.index].schema, record)
        return Struct.unchecked(updated, values)

    def use(self, record: Any) -> MapUse:
        from hearth_transforms.plain_column import MapUse, Step

        return MapUse(within=(self._name, Step(self._altered, self._inner.use(record))))

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        found = value.get(self._name)
        if found is None:
            return value
        return hash_ordered({**value, self._name: self._altered(found, record)}, copied=len(value))

    def _altered(self, value: Any, record: Any) -> dict[str, Any]:
        return self._inner.map(require_map(value, self._purpose), record)

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns

        field = schema.field(self._name)
        parts = [columns.field_column(column, each, with_default=False) for each in schema.fields]
        if field is None:
            return parts
        if field.schema.type is not Type.STRUCT:
            return None
        inner, inner_updated = parts[field.index], updated.fields[field.index].schema
        present, of = (inner.drop_null(), batch.filter(inner.is_valid())) if inner.null_count else (inner, batch)
        try:
            made = self._inner.columns(field.schema, inner_updated, present, of)
        except RowErrors as failed:
            raise failed.placed(inner.is_valid().to_numpy(zero_copy_only=False).nonzero()[0]) from None
        if not made:
            return None
        altered = columns.struct_column(inner_updated, made)
        parts[field.index] = columns.spread(altered, inner.is_valid()) if inner.null_count else altered
        return parts


class _OneByOne(Alteration):
    """Applies several alterations in order."""

    def __init__(self, alterations: Iterable[Alteration], purpose: str) -> None:
        self._purpose = purpose
        self._alterations = [(each, lru_cache(maxsize=1000)(each.schema)) for each in alterations]

    def schema(self, schema: Schema) -> Schema:
        for _, updated in self._alterations:
            schema = updated(schema)
        return schema

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        *others, (last, _) = self._alterations
        for each, intermediate in others:
            struct = each.struct(struct, intermediate(struct.schema), record)
        return last.struct(struct, updated, record)

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        for each, _ in self._alterations:
            value = each.map(value, record)
        return value

    def use(self, record: Any) -> MapUse:
        from hearth_transforms.plain_column import MapUse, Step

        return MapUse(steps=[Step(partial(self._altered, each), each.use(record)) for each, _ in self._alterations])

    def _altered(self, alteration: Alteration, value: Any, record: Any) -> dict[str, Any]:
        return alteration.map(require_map(value, self._purpose), record)

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns

        *others, (last, _) = self._alterations
        for each, intermediate in others:
            between = intermediate(schema)
            made = each.columns(schema, between, column, batch)
            if not made:
                return None
            schema, column = between, columns.struct_column(between, made)
        return last.columns(schema, updated, column, batch)


def by_place(paths: Mapping[FieldPath, T]) -> dict[Place, dict[str, T]]:
    """Group the values of paths by the enclosing struct or map, and by field name."""
    found: dict[Place, dict[str, T]] = {}
    for path, each in paths.items():
        found.setdefault(path.place, {})[path.name] = each
    return found


def nested(alterations: Mapping[Place, Alteration], purpose: str) -> Alteration:
    """Combine alterations at several places into one, the innermost first."""
    within: dict[str, dict[Place, Alteration]] = {}
    for place, alteration in alterations.items():
        if place:
            within.setdefault(place[0], {})[place[1:]] = alteration
    parts: list[Alteration] = [_Within(name, nested(inner, purpose), purpose) for name, inner in within.items()]
    parts += [alterations[()]] if () in alterations else []
    return parts[0] if len(parts) == 1 else _OneByOne(parts, purpose)


class FieldTransformation(FieldPlugin):
    """Alters the fields of the key or value."""

    side: ClassVar[Side]
    purpose: str
    """The purpose that Kafka Connect's error messages name."""
    keeps_null: ClassVar[bool] = False
    """Whether a null key or value stays null; otherwise it is an error."""

    def _alter_with(self, alterations: Mapping[Place, Alteration]) -> None:
        """Set the alterations by place."""
        self._alteration = nested(alterations, self.purpose)
        self._updated = lru_cache(maxsize=1000)(self._alteration.schema)

    def apply(self, record: R) -> R:
        """Alter a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if value is None and self.keeps_null:
            return record
        if schema is None:
            altered = self._alteration.map(require_map(value, self.purpose), record)
            return self.side.replaced(record, None, altered)
        struct = require_struct(value, self.purpose, schema)
        updated = self._updated(schema)
        return self.side.replaced(record, updated, self._alteration.struct(struct, updated, record))

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Alter the columns of the fields; maps, which have no columns, are altered separately."""
        from hearth_transforms import struct_column

        if self.side.schema(batch) is not None:
            return struct_column.with_structs(self.side, batch, self._columns)
        added = self._added(batch)
        if added is None:
            return NotImplemented
        return self._plain.changed(self.side, batch, self._altered_plain, added, self._alteration.use)

    def _added(self, batch: Batch) -> AddedColumns | None:
        """Return the record attributes for altering maps; None if the records themselves are needed."""
        from hearth_transforms.plain_making import AddedColumns

        return AddedColumns()

    def _altered_plain(self, value: Any, row: Any) -> Any:
        if value is None and self.keeps_null:
            return None
        return self._alteration.map(require_map(value, self.purpose), row)

    def _columns(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, list[Any]] | None:
        updated = self._updated(schema)
        made = self._alteration.columns(schema, updated, column, batch)
        return None if made is None else (updated, made)
