"""ValueToKey: builds the key from fields of the value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hearth_api import DataError, Importance, Schema, SchemaBuilder, Settings, Struct, Type, ValidList, key
from hearth_api.batch import Batch, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.field_path import FieldPath
from hearth_transforms.plugin import FieldPlugin, field_syntax, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R

_PURPOSE = "copying fields from value to key"


class ValueToKeyConfig(Settings):
    """Settings of ValueToKey."""

    fields: list[str] = key(
        "fields",
        check=ValidList(empty_allowed=False),
        importance=Importance.HIGH,
        doc="Names of the fields of the value that form the key.",
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class ValueToKey(FieldPlugin):
    """Replaces the key by a struct or map of fields, which stay in the value."""

    settings = ValueToKeyConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the names of the fields."""
        config = ValueToKeyConfig(configs)
        self._paths = [FieldPath(text, config.field_syntax_version) for text in config.fields]
        self._with_default = config.replace_null_with_default
        self._key_schema = lru_cache(maxsize=1000)(self._make_key_schema)

    def apply(self, record: R) -> R:
        """Build the key of a record; a field missing in a map is null in the key."""
        if record.value_schema is None:
            return KEY.replaced(record, None, self._of_map(record.value))
        struct = require_struct(record.value, _PURPOSE, record.value_schema)
        made = Struct(self._key_schema(struct.schema))
        for path in self._paths:
            made.put(path.name, path.value_in_struct(struct, self._with_default))
        return KEY.replaced(record, made.schema, made)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Build the key column from the field columns."""
        from hearth_transforms import struct_column as columns
        from hearth_transforms.plain_column import MapUse

        schema, column = batch.value_schema, columns.side_column(VALUE, batch)
        if schema is None:
            use = MapUse.reading(self._paths)
            (keys,) = self._plain.made(VALUE, batch, lambda value, _: (self._of_map(value),), 1, use)
            return [KEY.replaced_column(batch, None, keys)]
        if schema.type is not Type.STRUCT or column.null_count:
            return NotImplemented
        key_schema = self._key_schema(schema)
        parts = [columns.path_column(column, path.fields_in(schema), self._with_default) for path in self._paths]
        if not all(columns.is_sound(field.schema, part) for field, part in zip(key_schema.fields, parts)):
            return NotImplemented
        return [KEY.replaced_column(batch, key_schema, columns.struct_column(key_schema, parts))]

    def _of_map(self, value: Any) -> dict[str, Any]:
        present = require_map(value, _PURPOSE)
        found = {path.name: path.value_in_map(present) for path in self._paths}
        return hash_ordered(found, capacity=len(found))

    def _make_key_schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct()
        for path in self._paths:
            field = path.find_in(schema)
            if field is None:
                raise DataError(f"Field does not exist: {path}")
            builder.field(path.name, field.schema)
        return builder.build()
