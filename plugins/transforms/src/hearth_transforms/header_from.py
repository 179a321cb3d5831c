"""HeaderFrom: copies or moves fields of the key or value to headers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hearth_api import (
    ConfigError,
    ConnectRecord,
    Importance,
    Lambda,
    Schema,
    SchemaBuilder,
    Settings,
    Struct,
    Type,
    ValidString,
    key,
)
from hearth_api.batch import Batch, Declined, PartlyFailed
from hearth_api.java import hash_ordered
from hearth_transforms.field_path import FieldPath
from hearth_transforms.nesting import Alteration, FieldTransformation, by_place
from hearth_transforms.plugin import field_syntax, null_to_default
from hearth_transforms.requirement import NullPointerError, UnknownFieldError, require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R

if TYPE_CHECKING:
    from hearth_api.layout import Moves


def _ensure_not_empty(name: str, value: list[str] | None) -> None:
    if not value:
        raise ConfigError(name, value, "Empty list")


_NON_EMPTY_LIST = Lambda(_ensure_not_empty, "non-empty list")


class HeaderFromConfig(Settings):
    """Settings of HeaderFrom."""

    fields: list[str] = key(
        "fields", check=_NON_EMPTY_LIST, importance=Importance.HIGH, doc="Names of the fields that become headers."
    )
    headers: list[str] = key(
        "headers",
        check=_NON_EMPTY_LIST,
        importance=Importance.HIGH,
        doc="Names of the headers, one for each field, in the same order.",
    )
    operation: str = key(
        "operation",
        check=ValidString("move", "copy"),
        importance=Importance.HIGH,
        doc="Whether the fields are removed (move) or kept (copy).",
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class _Leaving(Alteration):
    """Removes the named fields."""

    def __init__(self, names: Collection[str], with_default: bool) -> None:
        self._names, self._with_default = names, with_default

    def schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            if field.name not in self._names:
                builder.field(field.name, field.schema)
        return builder.build()

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        rest = Struct(updated)
        for field in updated.fields:
            rest.put(field, struct.get(field.name) if self._with_default else struct.get_without_default(field.name))
        return rest

    def moves(self, record: Any) -> Moves:
        from hearth_api.layout import Moves

        return Moves(dict.fromkeys(self._names), is_copied=True)

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        return hash_ordered({name: each for name, each in value.items() if name not in self._names}, copied=len(value))

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns

        kept = [field for field in schema.fields if field.name not in self._names]
        parts = [columns.field_column(column, field, self._with_default) for field in kept]
        fit = all(columns.is_sound(field.schema, part) for field, part in zip(kept, parts))
        return parts if fit else None


class HeaderFrom(FieldTransformation):
    """Appends headers with the values of fields of the key or value."""

    settings = HeaderFromConfig

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the field and header names."""
        config = HeaderFromConfig(configs)
        if len(config.headers) != len(config.fields):
            raise ConfigError("'fields' config must have the same number of elements as 'headers' config.")
        self._paths = [FieldPath(text, config.field_syntax_version) for text in config.fields]
        self._headers = config.headers
        self.purpose = f"header {config.operation}"
        self._with_default = config.replace_null_with_default
        self._moves = config.operation == "move"
        leaving = by_place(dict.fromkeys(self._paths))
        self._alter_with({place: _Leaving(names, self._with_default) for place, names in leaving.items()})

    def apply(self, record: R) -> R:
        """Create headers from the fields of a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        headers = record.headers.duplicate()
        if schema is None:
            rest, *found = self._split(value, record)
            for name, each in zip(self._headers, found):
                headers.add(name, None, each)
            return self.side.replaced(record, None, rest).new_record(headers=headers)
        struct = require_struct(value, self.purpose, schema)
        new_schema = self._updated(schema) if self._moves else schema
        rest_struct = self._alteration.struct(struct, new_schema, record) if self._moves else struct
        for path, name in zip(self._paths, self._headers):
            try:
                field = path.field_in(schema)
            except UnknownFieldError as error:
                raise NullPointerError(str(error)) from None
            headers.add(name, field.schema, path.value_in_struct(struct, self._with_default))
        return self.side.replaced(record, new_schema, rest_struct).new_record(headers=headers)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Create headers from the columns of the fields."""
        from hearth_transforms import header_column, struct_column

        schema, column = self.side.schema(batch), batch.column(self.side.name)
        if schema is None:
            return self._apply_to_maps(batch)
        if schema.type is not Type.STRUCT or column is None or column.null_count:
            return NotImplemented
        added = []
        for path, name in zip(self._paths, self._headers):
            if path.find_in(schema) is None:
                return NotImplemented
            fields = list(path.fields_in(schema))
            values = struct_column.path_column(column, fields, self._with_default)
            if not struct_column.is_sound(fields[-1].schema, values):
                return NotImplemented
            added.append(header_column.of_values(name, fields[-1].schema, values))
        rest = super().apply_batch(batch) if self._moves else [batch]
        headers = header_column.appended(batch.column("headers"), added, batch.num_rows)
        return NotImplemented if rest is NotImplemented else [each.with_columns(headers=headers) for each in rest]

    def _apply_to_maps(self, batch: Batch) -> list[Batch] | PartlyFailed:
        from hearth_transforms.plain_column import MapUse

        use, count = MapUse.reading(self._paths), len(self._paths)
        if self._moves and not all(len(path.steps) == 1 for path in self._paths):
            found = self._plain.made(self.side, batch, self._found_in_map, count, use)
            return super().apply_batch(self._with_headers(batch, found))
        use = replace(use, removes=self._moves)
        rest, *found = self._plain.made(self.side, batch, self._split, 1 + count, use)
        return [self.side.replaced_column(self._with_headers(batch, found), None, rest)]

    def _with_headers(self, batch: Batch, columns: list[Any]) -> Batch:
        """Return the batch with a header for each column without schema."""
        from hearth_transforms import header_column

        added = [header_column.plain(name, each) for name, each in zip(self._headers, columns)]
        return batch.with_columns(headers=header_column.appended(batch.column("headers"), added, batch.num_rows))

    def _split(self, value: Any, record: Any) -> tuple[Any, ...]:
        """Return the rest of a map, and the header values."""
        found = self._found_in_map(value, record)
        return (self._alteration.map(value, record) if self._moves else _copied(value)), *found

    def _found_in_map(self, value: Any, record: Any) -> tuple[Any, ...]:
        """Return the header values of a map."""
        present = require_map(value, self.purpose)
        return tuple(path.value_in_map(present) for path in self._paths)


def _copied(value: dict[str, Any]) -> dict[str, Any]:
    return hash_ordered(value, copied=len(value))


class HeaderFromKey(HeaderFrom):
    """Creates headers from fields of the key."""

    side = KEY


class HeaderFromValue(HeaderFrom):
    """Creates headers from fields of the value."""

    side = VALUE
