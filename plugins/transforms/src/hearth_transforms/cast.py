"""Cast: changes the type of fields of the key or value, or of the whole key or value."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

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
    is_logical,
    key,
    validate_value,
)
from hearth_api.batch import Batch, Declined, ScalarColumn
from hearth_api.java import hash_ordered, trimmed
from hearth_transforms.casting import OUTPUTS, cast, supported
from hearth_transforms.field_path import FieldPath
from hearth_transforms.nesting import Alteration, FieldTransformation, by_place
from hearth_transforms.pair import DESCRIPTION, invalid_pair, parts
from hearth_transforms.plugin import field_syntax, null_to_default
from hearth_transforms.side import KEY, VALUE, R

_WHOLE = None
"""The field name that stands for the whole key or value."""


def _targets(items: list[str]) -> dict[str | None, Type]:
    targets: dict[str | None, Type] = {}
    for item in items:
        found = parts(item)
        if len(found) not in (1, 2):
            raise invalid_pair(items, item)
        targets[trimmed(found[0]) if len(found) == 2 else _WHOLE] = _target(trimmed(found[-1]))
    if _WHOLE in targets and len(items) > 1:
        raise ConfigError(
            "Cast transformations that specify a type to cast the entire value to "
            "may only specify a single cast in their spec"
        )
    return targets


def _target(text: str) -> Type:
    name = text.upper()
    if name not in Type.__members__:
        reason = "java.lang.IllegalArgumentException: No enum constant org.apache.kafka.connect.data.Schema.Type"
        raise ConfigError(f"Invalid type found in casting spec: {text}", f"{reason}.{name}")
    target = Type[name]
    if target not in OUTPUTS:
        raise ConfigError(f"Cast transformation does not support casting to {target}; {supported(OUTPUTS)}")
    return target


def _check_spec(name: str, value: list[str] | None) -> None:
    if not value:
        raise ConfigError("Must specify at least one field to cast.")
    _targets(value)


class CastConfig(Settings):
    """Settings of Cast."""

    spec: list[str] = key(
        "spec",
        check=Lambda(_check_spec, DESCRIPTION),
        importance=Importance.HIGH,
        doc="Fields with their new types, such as foo:int32,bar:string, or one type for the whole key or value: int8,"
        " int16, int32, int64, float32, float64, boolean or string. Bytes can only be cast to a string, in base64.",
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class _Casting(Alteration):
    """Casts the named fields."""

    def __init__(self, targets: Mapping[str, Type], with_default: bool) -> None:
        self._targets, self._with_default = hash_ordered(targets), with_default

    def schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            target = self._targets.get(field.name)
            builder.field(field.name, field.schema if target is None else _field_schema(field.schema, target))
        return _completed(builder, schema, Type.STRUCT)

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        casted = Struct(updated)
        for field in struct.schema.fields:
            found = struct.get(field) if self._with_default else struct.get_without_default(field)
            target = self._targets.get(field.name)
            casted.put(field.name, found if target is None else cast(found, field.schema, target))
        return casted

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        changed = {name: _cast_schemaless(value.get(name), target) for name, target in self._targets.items()}
        return hash_ordered({**value, **changed}, copied=len(value))

    @property
    def touched(self) -> Collection[str]:
        return self._targets

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns
        from hearth_transforms.cast_column import cast_column

        found = columns.field_columns(schema, column, self._with_default)
        if found is None:
            return None
        for field in schema.fields:
            if (target := self._targets.get(field.name)) is not None:
                found[field.index] = cast_column(found[field.index], field.schema, target)
        return found


class Cast(FieldTransformation):
    """Casts fields of a key or value, or all of it; a null stays null.

    A field that is missing in a map is added as null.
    """

    settings = CastConfig
    purpose = "cast types"
    keeps_null = True

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the target types."""
        config = CastConfig(configs)
        targets = _targets(config.spec)
        self._whole = targets.pop(_WHOLE, None)
        self._whole_schema = lru_cache(maxsize=1000)(self._make_whole_schema)
        paths = {FieldPath(text or "", config.field_syntax_version): target for text, target in targets.items()}
        with_default = config.replace_null_with_default
        places = by_place(paths) or {(): {}}
        self._alter_with({place: _Casting(names, with_default) for place, names in places.items()})

    def apply(self, record: R) -> R:
        """Cast the fields or the whole side of a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if value is None:
            return record
        # As in Java, an error in the schema, such as its default, is raised before one in the value.
        converted = None if schema is None else (self._updated if self._whole is None else self._whole_schema)(schema)
        if self._whole is None:
            return super().apply(record)
        found = cast(value, schema, self._whole)
        if converted is not None:
            validate_value(converted, found)
        return self.side.replaced(record, converted, found)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Cast the columns of the fields or of the whole side."""
        from hearth_transforms import struct_column as columns

        if self._whole is not None and self.side.schema(batch) is not None:
            return columns.with_present(self.side, batch, self._whole_column)
        return super().apply_batch(batch)

    def _altered_plain(self, value: Any, row: Any) -> Any:
        return super()._altered_plain(value, row) if self._whole is None else _cast_schemaless(value, self._whole)

    def _whole_column(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, Any] | None:
        from hearth_transforms.cast_column import cast_column

        if is_logical(schema) or not schema.type.is_primitive:
            return None
        converted = self._whole_schema(schema)
        return converted, cast_column(column, schema, converted.type)

    def _make_whole_schema(self, schema: Schema) -> Schema:
        assert self._whole is not None
        return _completed(SchemaBuilder.type(self._whole).basics(schema), schema, self._whole)


def _cast_schemaless(value: Any, target: Type) -> Any:
    """Apply `cast` to a value without schema, or to those of many rows; only the latter loads Arrow."""
    if not isinstance(value, ScalarColumn):
        return cast(value, None, target)
    from hearth_transforms.cast_column import cast_many

    return cast_many(value, target)


def _field_schema(schema: Schema, target: Type) -> Schema:
    return _completed(SchemaBuilder.type(target), schema, target)


def _completed(builder: SchemaBuilder, schema: Schema, target: Type) -> Schema:
    """Return the new schema with the optionality and default of the old one."""
    if schema.optional:
        builder.optional()
    if schema.default is not None:
        builder.default(cast(schema.default, schema, target))
    return builder.build()


class CastKey(Cast):
    """Casts the key."""

    side = KEY


class CastValue(Cast):
    """Casts the value."""

    side = VALUE
