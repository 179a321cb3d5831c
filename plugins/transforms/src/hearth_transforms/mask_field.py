"""MaskField: fields of the key or value lose what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth_api import Importance, NonEmptyString, Settings, Struct, Type, ValidList, key
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.mask import mask
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "mask fields"


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
        doc="What to write instead, for fields that hold text or numbers. Without it a field gets the nothing of its"
        " type: 0, false, an empty text or list, the beginning of 1970.",
    )
    replace_null_with_default: bool = null_to_default()


class MaskField(KafkaPlugin, BatchTransformation):
    """Replaces the values of some fields on one side of a record; nulls stay null."""

    settings = MaskFieldConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the names of the fields and what replaces their values."""
        config = MaskFieldConfig(configs)
        self._names = dict.fromkeys(config.fields)
        self._replacement = config.replacement
        self._with_default = config.replace_null_with_default

    def apply(self, record: R) -> R:
        """Mask the fields of one record; one that a map lacks is added as null."""
        schema, value = self.side.schema(record), self.side.value(record)
        if schema is None:
            present = require_map(value, _PURPOSE)
            masked = {name: mask(present.get(name), None, self._replacement) for name in self._names}
            return self.side.replaced(record, None, hash_ordered({**present, **masked}, copied=len(present)))
        struct = require_struct(value, _PURPOSE, schema)
        updated = Struct(struct.schema)
        for field in struct.schema.fields:
            found = struct.get(field) if self._with_default else struct.get_without_default(field)
            is_masked = field.name in self._names
            updated.put(field, mask(found, field.schema, self._replacement) if is_masked else found)
        return self.side.replaced(record, schema, updated)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Replace the columns of the fields."""
        from hearth_transforms import struct_column as columns

        schema, column = self.side.schema(batch), columns.side_column(self.side, batch)
        if schema is None or schema.type is not Type.STRUCT or column.null_count:
            return NotImplemented
        parts = columns.field_columns(schema, column, self._with_default)
        if not parts:
            return NotImplemented
        for field in schema.fields:
            if field.name in self._names:
                parts[field.index] = columns.masked_column(parts[field.index], field.schema, self._replacement)
        return [self.side.replaced_column(batch, schema, columns.struct_column(schema, parts))]


class MaskFieldKey(MaskField):
    """Masks fields of the key."""

    side = KEY


class MaskFieldValue(MaskField):
    """Masks fields of the value."""

    side = VALUE
