"""Cast: fields of the key or value, or the whole of it, get another type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import (
    ConfigError,
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
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import hash_ordered, trimmed
from hearth_transforms.casting import OUTPUTS, cast, supported
from hearth_transforms.pair import DESCRIPTION, invalid_pair, parts
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "cast types"
_WHOLE = None
"""What stands for the name of a field where the whole is cast."""


def _targets(items: list[str]) -> dict[str | None, Type]:
    targets: dict[str | None, Type] = {}
    for item in items:
        found = parts(item)
        if len(found) > 2:
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
        doc="Pairs of the name of a field and its new type, with a colon between them, or one type for the whole key"
        " or value: int8, int16, int32, int64, float32, float64, boolean or string. Bytes only become a string, in"
        " base64.",
    )
    replace_null_with_default: bool = null_to_default()


class Cast(KafkaPlugin, BatchTransformation):
    """Gives fields on one side of a record, or the whole side, another type; a null side stays as it is."""

    settings = CastConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the types."""
        config = CastConfig(configs)
        self._targets = hash_ordered(_targets(config.spec))
        self._whole = self._targets.get(_WHOLE)
        self._with_default = config.replace_null_with_default
        self._converted = lru_cache(maxsize=16)(self._make_converted)

    def apply(self, record: R) -> R:
        """Cast the fields of one record, or its whole; a field that a map lacks is added as null."""
        schema, value = self.side.schema(record), self.side.value(record)
        if value is None:
            return record
        if schema is None:
            return self.side.replaced(record, None, self._without_schema(value))
        converted = self._converted(schema)
        if self._whole is not None:
            found = cast(value, schema, self._whole)
            validate_value(converted, found)
            return self.side.replaced(record, converted, found)
        struct, updated = require_struct(value, _PURPOSE, schema), Struct(converted)
        for field in struct.schema.fields:
            found = struct.get(field) if self._with_default else struct.get_without_default(field)
            target = self._targets.get(field.name)
            updated.put(field.name, found if target is None else cast(found, field.schema, target))
        return self.side.replaced(record, converted, updated)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Cast the columns of the fields, or that of the whole."""
        from hearth_transforms import struct_column as columns

        if self._whole is not None:
            return columns.with_present(self.side, batch, self._whole_column)
        return columns.with_structs(self.side, batch, self._field_columns)

    def _without_schema(self, value: Any) -> Any:
        if self._whole is not None:
            return cast(value, None, self._whole)
        present = require_map(value, _PURPOSE)
        changed = {name: cast(present.get(name), None, target) for name, target in self._targets.items()}
        return hash_ordered({**present, **changed}, copied=len(present))

    def _whole_column(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, Any] | None:
        from hearth_transforms.cast_column import cast_column

        if is_logical(schema) or not schema.type.is_primitive:
            return None
        converted = self._converted(schema)
        return converted, cast_column(column, schema, converted.type)

    def _field_columns(self, batch: Batch, schema: Schema, column: Any) -> tuple[Schema, Any] | None:
        from hearth_transforms import struct_column as columns
        from hearth_transforms.cast_column import cast_column

        converted = self._converted(schema)
        found = columns.field_columns(schema, column, self._with_default)
        if found is None:
            return None
        for field in schema.fields:
            if (target := self._targets.get(field.name)) is not None:
                found[field.index] = cast_column(found[field.index], field.schema, target)
        return converted, found

    def _make_converted(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.type(self._whole or Type.STRUCT).basics(schema)
        if self._whole is None:
            for field in schema.fields:
                target = self._targets.get(field.name)
                builder.field(field.name, field.schema if target is None else _field_schema(field.schema, target))
        return _completed(builder, schema, self._whole or Type.STRUCT)


def _field_schema(schema: Schema, target: Type) -> Schema:
    return _completed(SchemaBuilder.type(target), schema, target)


def _completed(builder: SchemaBuilder, schema: Schema, target: Type) -> Schema:
    """Return the schema that is being built, as optional as the one it stands for, and with its default."""
    if schema.optional:
        builder.optional()
    if schema.default is not None:
        builder.default(cast(schema.default, schema, target))
    return builder.build()


class CastKey(Cast):
    """Casts in the key."""

    side = KEY


class CastValue(Cast):
    """Casts in the value."""

    side = VALUE
