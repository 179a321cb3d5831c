"""HoistField: wraps the key or value in a struct or map with one field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import Importance, Schema, SchemaBuilder, Settings, Struct, key
from hearth_api.batch import Batch, Declined
from hearth_transforms.plugin import FieldPlugin
from hearth_transforms.side import KEY, VALUE, R, Side


class HoistFieldConfig(Settings):
    """Settings of HoistField."""

    field: str = key("field", doc="Name of the single field of the new struct or map.", importance=Importance.MEDIUM)


class HoistField(FieldPlugin):
    """Wraps the key or value in a struct, or in a map if it has no schema; nulls are wrapped as well."""

    settings = HoistFieldConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the name of the field."""
        self._field = HoistFieldConfig(configs).field
        self._wrapping = lru_cache(maxsize=1000)(self._make_wrapping)

    def apply(self, record: R) -> R:
        """Wrap the key or value of a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if schema is None:
            return self.side.replaced(record, None, {self._field: value})
        wrapping = self._wrapping(schema)
        return self.side.replaced(record, wrapping, Struct(wrapping).put(self._field, value))

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Wrap a column without copying it."""
        from hearth_transforms import plain_column
        from hearth_transforms import struct_column as columns

        schema, column = self.side.schema(batch), columns.side_column(self.side, batch)
        if schema is None:
            if self._field.startswith("@"):
                return self._plain.changed(self.side, batch, lambda value, _: {self._field: value})
            return [self.side.replaced_column(batch, None, plain_column.wrapped(column, self._field))]
        if not columns.is_sound(schema, column):
            return NotImplemented
        wrapping = self._wrapping(schema)
        return [self.side.replaced_column(batch, wrapping, columns.struct_column(wrapping, [column]))]

    def _make_wrapping(self, schema: Schema) -> Schema:
        return SchemaBuilder.struct().field(self._field, schema).build()


class HoistFieldKey(HoistField):
    """Hoists the key."""

    side = KEY


class HoistFieldValue(HoistField):
    """Hoists the value."""

    side = VALUE
