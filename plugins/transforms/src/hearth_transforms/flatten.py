"""Flatten: moves the fields of nested structs or maps to the top of the key or value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, ClassVar

from hearth_api import DataError, Importance, Schema, SchemaBuilder, Settings, Struct, Type, key
from hearth_api.batch import Batch, Declined, ScalarColumn
from hearth_api.java import java_class
from hearth_transforms.plugin import FieldPlugin
from hearth_transforms.requirement import inferred_type, require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "flattening"


class FlattenConfig(Settings):
    """Settings of Flatten."""

    delimiter: str = key(
        "delimiter",
        default=".",
        importance=Importance.MEDIUM,
        doc="The delimiter between the names of nested fields in a new name.",
    )


class Flatten(FieldPlugin):
    """Flattens the key or value, except for arrays; a null stays null."""

    settings = FlattenConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the delimiter."""
        self._delimiter = FlattenConfig(configs).delimiter
        self._flattened = lru_cache(maxsize=1000)(self._make_flattened)

    def apply(self, record: R) -> R:
        """Flatten a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if value is None:
            return record
        if schema is None:
            return self.side.replaced(record, None, self._flat(value))
        struct = require_struct(value, _PURPOSE, schema)
        updated = Struct(self._flattened(schema))
        for name, found in self._values(struct, ""):
            updated.put(name, found)
        return self.side.replaced(record, updated.schema, updated)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Collect the columns of all nested fields."""
        from hearth_api.layout import flattened
        from hearth_transforms import struct_column as columns
        from hearth_transforms.plain_column import MapUse

        if self.side.schema(batch) is None:
            use = MapUse(rewrite=partial(flattened, delimiter=self._delimiter))
            return self._plain.changed(self.side, batch, lambda value, _: self._flat(value), use=lambda _: use)
        return columns.with_structs(self.side, batch, self._columns)

    def _flat(self, value: Any) -> Any:
        return None if value is None else dict(self._entries(require_map(value, _PURPOSE), ""))

    def _columns(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, Any] | None:
        from hearth_transforms import struct_column as columns

        flattened, found = self._flattened(schema), list(_leaves(schema, column))
        fit = all(columns.is_sound(field.schema, part) for field, part in zip(flattened.fields, found))
        return (flattened, found) if fit else None

    def _entries(self, value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
        for name, item in value.items():
            path = self._path(prefix, name)
            is_scalar = item is None or (isinstance(item, ScalarColumn) and item.is_plain)
            type_ = None if is_scalar else inferred_type(item, "Flatten")
            if type_ is Type.MAP:
                yield from self._entries(item, path)
            elif type_ is Type.STRUCT:
                found = f"class {java_class(item)} for record without schemas"
                raise DataError(f"Flatten transformation does not support {found} (for field {path}).")
            else:
                yield path, item

    def _values(self, struct: Struct, prefix: str) -> Iterator[tuple[str, Any]]:
        for field in struct.schema.fields:
            path = self._path(prefix, field.name)
            if field.schema.type is not Type.STRUCT:
                yield path, struct.get(field)
            elif (inner := struct.get_without_default(field)) is not None:
                yield from self._values(inner, path)

    def _make_flattened(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for path, leaf in self._leaf_schemas(schema, "", schema.optional, schema.default):
            builder.field(path, leaf)
        return builder.build()

    def _leaf_schemas(
        self, schema: Schema, prefix: str, optional: bool, default: Struct | None
    ) -> Iterator[tuple[str, Schema]]:
        """Yield the non-struct fields, with optionality and default inherited from the enclosing structs."""
        for field in schema.fields:
            path, own = self._path(prefix, field.name), field.schema
            is_optional = optional or own.optional
            own_default = default.get(field) if own.default is None and default is not None else own.default
            if own.is_reference:
                raise DataError(
                    f"Flatten transformation does not support schemas that hold themselves (for field {path})."
                )
            if own.type is Type.STRUCT:
                yield from self._leaf_schemas(own, path, is_optional, own_default)
            elif own.type is Type.MAP:
                raise DataError(
                    f"Flatten transformation does not support {own.type} for record with schemas (for field {path})."
                )
            else:
                yield path, _leaf_schema(own, is_optional, own_default)

    def _path(self, prefix: str, name: str) -> str:
        return f"{prefix}{self._delimiter}{name}" if prefix else name


def _leaf_schema(schema: Schema, optional: bool, default: Any) -> Schema:
    builder = SchemaBuilder.type(schema.type)
    if schema.type is Type.ARRAY:
        assert schema.value_schema is not None
        builder = SchemaBuilder.array(schema.value_schema)
    builder.basics(schema)
    if optional:
        builder.optional()
    if default is not None:
        builder.default(default)
    return builder.build()


def _leaves(schema: Schema, column: Any) -> Iterator[Any]:
    from hearth_transforms import struct_column as columns

    for field in schema.fields:
        if field.schema.type is Type.STRUCT:
            yield from _leaves(field.schema, columns.field_column(column, field, with_default=False))
        else:
            yield columns.field_column(column, field, with_default=True)


class FlattenKey(Flatten):
    """Flattens the key."""

    side = KEY


class FlattenValue(Flatten):
    """Flattens the value."""

    side = VALUE
