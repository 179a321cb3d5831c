"""MaskField: replaces the values of fields of the key or value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hearth_api import ConnectRecord, Importance, NonEmptyString, Schema, Settings, Struct, ValidList, key
from hearth_api.batch import Batch, Declined, ScalarColumn, column_to_values
from hearth_api.java import hash_ordered
from hearth_transforms.field_path import FieldPath
from hearth_transforms.mask import mask
from hearth_transforms.nesting import Alteration, FieldTransformation, by_place
from hearth_transforms.plugin import field_syntax, null_to_default
from hearth_transforms.side import KEY, VALUE


class MaskFieldConfig(Settings):
    """Settings of MaskField."""

    fields: list[str] = key(
        "fields", check=ValidList(empty_allowed=False), importance=Importance.HIGH, doc="Names of the fields to mask."
    )
    replacement: str | None = key(
        "replacement",
        default=None,
        check=NonEmptyString(),
        importance=Importance.LOW,
        doc="The replacement for fields with text or numbers. Without it a field gets the empty value of its type: 0,"
        " false, an empty text or list, the start of 1970.",
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class _Masking(Alteration):
    """Masks the named fields."""

    def __init__(self, names: Mapping[str, Any], replacement: str | None, with_default: bool) -> None:
        # Kafka Connect iterates over a `new HashSet<>(fields)`, which decides which unmaskable field an error names.
        self._names = hash_ordered(names, capacity=max(16, int(len(names) / 0.75) + 1))
        self._replacement, self._with_default = replacement, with_default

    def schema(self, schema: Schema) -> Schema:
        return schema

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        masked = Struct(updated)
        for field in struct.schema.fields:
            found = struct.get(field) if self._with_default else struct.get_without_default(field)
            is_masked = field.name in self._names
            masked.put(field, mask(found, field.schema, self._replacement) if is_masked else found)
        return masked

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        masked = {name: _mask_schemaless(value.get(name), self._replacement) for name in self._names}
        return hash_ordered({**value, **masked}, copied=len(value))

    @property
    def touched(self) -> Collection[str]:
        return self._names

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns

        parts = columns.field_columns(schema, column, self._with_default)
        if parts is None:
            return None
        for field in schema.fields:
            if field.name in self._names:
                parts[field.index] = columns.masked_column(parts[field.index], field.schema, self._replacement)
        return parts


def _mask_schemaless(value: Any, replacement: str | None) -> Any:
    """Apply `mask` to a value without schema, or to those of many rows; only the latter loads Arrow."""
    if not isinstance(value, ScalarColumn):
        return mask(value, None, replacement)
    from hearth_api.layout import ScalarsOfColumn
    from hearth_transforms.struct_column import masked_column

    schema, column = value.column()
    if column.null_count == 0:
        (first,) = column_to_values(schema, column.slice(0, 1))
        return mask(first, None, replacement)
    return ScalarsOfColumn(schema, masked_column(column, schema, replacement))


class MaskField(FieldTransformation):
    """Replaces the values of fields of the key or value; nulls stay null, fields missing in a map become null."""

    settings = MaskFieldConfig
    purpose = "mask fields"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the names of the fields and the replacement."""
        config = MaskFieldConfig(configs)
        paths = {FieldPath(text, config.field_syntax_version): None for text in config.fields}
        self._alter_with(
            {
                place: _Masking(names, config.replacement, config.replace_null_with_default)
                for place, names in by_place(paths).items()
            }
        )

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Replace the columns of the fields; a null key or value is an error."""
        column = batch.column(self.side.name)
        has_nulls = self.side.schema(batch) is not None and (column is None or column.null_count)
        return NotImplemented if has_nulls else super().apply_batch(batch)


class MaskFieldKey(MaskField):
    """Masks fields of the key."""

    side = KEY


class MaskFieldValue(MaskField):
    """Masks fields of the value."""

    side = VALUE
