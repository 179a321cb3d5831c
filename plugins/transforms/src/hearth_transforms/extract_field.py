"""ExtractField: replaces the key or value by one of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from hearth_api import CaseInsensitiveValidString, Importance, Settings, Type, key
from hearth_api.batch import Batch, Declined
from hearth_transforms.field_path import FieldPath
from hearth_transforms.plugin import FieldPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "field extraction"


class ExtractFieldConfig(Settings):
    """Settings of ExtractField."""

    field: str = key("field", doc="Name or path of the field.", importance=Importance.MEDIUM)
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = key(
        "field.syntax.version",
        default="V1",
        check=CaseInsensitiveValidString("V1", "V2"),
        importance=Importance.HIGH,
        doc="The syntax of `field`. V1: the name of a top-level field. V2: a path of names separated by dots; a name"
        " with dots is in backticks, such as `foo.bar`.baz.",
    )


class ExtractField(FieldPlugin):
    """Replaces the key or value by one of its fields; a null stays null and gets the field's schema."""

    settings = ExtractFieldConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the path of the field."""
        config = ExtractFieldConfig(configs)
        self._path = FieldPath(config.field, config.field_syntax_version)
        self._with_default = config.replace_null_with_default

    def apply(self, record: R) -> R:
        """Extract the field of a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if schema is None:
            return self.side.replaced(record, None, self._of_map(value))
        struct = None if value is None else require_struct(value, _PURPOSE, schema)
        field = self._path.field_in(schema)
        found = None if struct is None else self._path.value_in_struct(struct, self._with_default)
        return self.side.replaced(record, field.schema, found)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Extract the field's column from the struct column."""
        from hearth_transforms import struct_column as columns
        from hearth_transforms.plain_column import MapUse

        schema = self.side.schema(batch)
        if schema is None:
            use = MapUse.reading([self._path])
            return self._plain.changed(self.side, batch, lambda value, _: self._of_map(value), use=lambda _: use)
        if schema.type is not Type.STRUCT:
            return NotImplemented
        fields = list(self._path.fields_in(schema))
        column = columns.path_column(columns.side_column(self.side, batch), fields, self._with_default)
        return [self.side.replaced_column(batch, fields[-1].schema, column)]

    def _of_map(self, value: Any) -> Any:
        return None if value is None else self._path.value_in_map(require_map(value, _PURPOSE))


class ExtractFieldKey(ExtractField):
    """Extracts a field of the key."""

    side = KEY


class ExtractFieldValue(ExtractField):
    """Extracts a field of the value."""

    side = VALUE
