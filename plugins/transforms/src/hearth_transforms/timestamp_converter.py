"""TimestampConverter: converts the time in the key or value, or in one of its fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hearth_api import (
    ConfigError,
    ConnectRecord,
    Importance,
    Schema,
    SchemaBuilder,
    Settings,
    Struct,
    ValidString,
    key,
)
from hearth_api.batch import Batch, Declined, ScalarColumn
from hearth_api.java import hash_ordered
from hearth_transforms.date_format import DateFormat
from hearth_transforms.field_path import FieldPath
from hearth_transforms.nesting import Alteration, FieldTransformation
from hearth_transforms.plugin import field_syntax, null_to_default
from hearth_transforms.side import KEY, VALUE, R
from hearth_transforms.time_kind import KINDS, PER_SECOND, STRING, Notation, TimeKind, convert, kind_of_schema


class TimestampConverterConfig(Settings):
    """Settings of TimestampConverter."""

    field: str = key(
        "field",
        default="",
        importance=Importance.HIGH,
        doc="Name of the field with the time; empty if the whole key or value is the time.",
    )
    target_type: str = key(
        "target.type",
        check=ValidString("string", "unix", "Date", "Time", "Timestamp"),
        importance=Importance.HIGH,
        doc="The new type of the time: string, unix, Date, Time or Timestamp.",
    )
    format: str = key(
        "format",
        default="",
        importance=Importance.MEDIUM,
        doc="The format of times as strings, in UTC, for printing and parsing: a pattern of Java's SimpleDateFormat.",
    )
    unix_precision: str = key(
        "unix.precision",
        default="milliseconds",
        check=ValidString("nanoseconds", "microseconds", "milliseconds", "seconds"),
        importance=Importance.LOW,
        doc="The unit of Unix times. Conversions use whole milliseconds, so finer fractions are lost.",
    )
    replace_null_with_default: bool = null_to_default()
    field_syntax_version: str = field_syntax()


class _Converting(Alteration):
    """Converts the time in one field."""

    def __init__(self, name: str, target: TimeKind, notation: Notation, with_default: bool) -> None:
        self._name, self._target, self._notation, self._with_default = name, target, notation, with_default

    def schema(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            is_it = field.name == self._name
            builder.field(field.name, self._target.schema_like(field.schema) if is_it else field.schema)
        if schema.optional:
            builder.optional()
        if schema.default is not None:
            builder.default(self._converted(schema.default, builder.build()))
        return builder.build()

    def struct(self, struct: Struct, updated: Schema, record: ConnectRecord) -> Struct:
        return self._converted(struct, updated)

    def map(self, value: dict[str, Any], record: Any) -> dict[str, Any]:
        converted = _convert_schemaless(value.get(self._name), self._target, self._notation)
        return hash_ordered({**value, self._name: converted}, copied=len(value))

    @property
    def touched(self) -> Collection[str]:
        return (self._name,) if self._name else ()

    def columns(self, schema: Schema, updated: Schema, column: Any, batch: Batch) -> list[Any] | None:
        from hearth_transforms import struct_column as columns
        from hearth_transforms.time_column import converted

        parts = columns.field_columns(schema, column, self._with_default)
        field = schema.field(self._name)
        if parts and field is not None:
            kind = kind_of_schema(field.schema)
            parts[field.index] = converted(parts[field.index], kind, self._target, self._notation)
            if parts[field.index] is None:
                return None
        return parts

    def _converted(self, struct: Struct, updated: Schema) -> Struct:
        made = Struct(updated)
        for field in struct.schema.fields:
            found = struct.get(field) if self._with_default else struct.get_without_default(field)
            if field.name == self._name:
                kind_of_schema(field.schema)
                found = convert(found, field.schema, self._target, self._notation)
            made.put(field.name, found)
        return made


class TimestampConverter(FieldTransformation):
    """Converts times in the key or value: all of it or one field; nulls stay null."""

    settings = TimestampConverterConfig
    purpose = "converting timestamp formats"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the target type and the format."""
        config = TimestampConverterConfig(configs)
        self._target = KINDS[config.target_type]
        self._notation = Notation(_format(config.format, self._target), PER_SECOND[config.unix_precision])
        self._is_whole = not config.field
        path = FieldPath(config.field, config.field_syntax_version)
        with_default = config.replace_null_with_default
        self._alter_with({path.place: _Converting(path.name, self._target, self._notation, with_default)})

    def apply(self, record: R) -> R:
        """Convert the time of a record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if self._is_whole:
            if schema is not None:
                kind_of_schema(schema)
            converted = convert(value, schema, self._target, self._notation)
            return self.side.replaced(record, schema and self._target.schema_like(schema), converted)
        if value is None:
            return record if schema is None else self.side.replaced(record, self._updated(schema), None)
        return super().apply(record)

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Convert the column that holds the times."""
        from hearth_transforms import struct_column as columns
        from hearth_transforms.time_column import converted

        schema, column = self.side.schema(batch), columns.side_column(self.side, batch)
        if schema is None:
            return super().apply_batch(batch)
        if not self._is_whole:
            return NotImplemented if column.null_count else super().apply_batch(batch)
        found = converted(column, kind_of_schema(schema), self._target, self._notation)
        if found is None:
            return NotImplemented
        return [self.side.replaced_column(batch, self._target.schema_like(schema), found)]

    def _altered_plain(self, value: Any, row: Any) -> Any:
        if self._is_whole or value is None:
            return _convert_schemaless(value, self._target, self._notation)
        return super()._altered_plain(value, row)


class TimestampConverterKey(TimestampConverter):
    """Converts times in the key."""

    side = KEY


class TimestampConverterValue(TimestampConverter):
    """Converts times in the value."""

    side = VALUE


def _convert_schemaless(value: Any, target: TimeKind, notation: Notation) -> Any:
    """Apply `convert` to a value without schema, or to those of many rows; only the latter loads Arrow."""
    if not isinstance(value, ScalarColumn):
        return convert(value, None, target, notation)
    from hearth_transforms.time_column import convert_many

    return convert_many(value, target, notation)


def _format(pattern: str, target: TimeKind) -> DateFormat | None:
    """Return the format, which a string target requires and any other target uses for parsing."""
    if not pattern.strip():
        if target is STRING:
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")
        return None
    try:
        found = DateFormat(pattern)
        if target is not STRING:
            found.require_reading()
    except ValueError as error:
        # Kafka's exception has this message in place of the key's name.
        place = f"TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: {pattern}"
        raise ConfigError(place, f"java.lang.IllegalArgumentException: {error}") from error
    except NotImplementedError as error:
        raise ConfigError("format", pattern, str(error)) from error
    return found
