"""TimestampConverter: the key or value, or one of its fields, tells its time in another way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar

from hearth_api import ConfigError, Importance, Schema, SchemaBuilder, Settings, Struct, Type, ValidString, key
from hearth_api.batch import Batch, BatchTransformation, Declined
from hearth_api.java import hash_ordered
from hearth_transforms.date_format import DateFormat
from hearth_transforms.plugin import KafkaPlugin, null_to_default
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.side import KEY, VALUE, R, Side
from hearth_transforms.time_kind import KINDS, PER_SECOND, STRING, Notation, TimeKind, kind_of_schema, kind_of_value

_PURPOSE = "converting timestamp formats"


class TimestampConverterConfig(Settings):
    """Settings of TimestampConverter."""

    field: str = key(
        "field",
        default="",
        importance=Importance.HIGH,
        doc="Name of the field that holds the time; empty where the whole key or value does.",
    )
    target_type: str = key(
        "target.type",
        check=ValidString("string", "unix", "Date", "Time", "Timestamp"),
        importance=Importance.HIGH,
        doc="What the time becomes: string, unix, Date, Time or Timestamp.",
    )
    format: str = key(
        "format",
        default="",
        importance=Importance.MEDIUM,
        doc="How times are written as strings, in UTC: a pattern of Java's SimpleDateFormat, to print and to read.",
    )
    unix_precision: str = key(
        "unix.precision",
        default="milliseconds",
        check=ValidString("nanoseconds", "microseconds", "milliseconds", "seconds"),
        importance=Importance.LOW,
        doc="What unix times count. Times have whole milliseconds in between, so what is finer is lost.",
    )
    replace_null_with_default: bool = null_to_default()


class TimestampConverter(KafkaPlugin, BatchTransformation):
    """Converts times on one side of a record: the whole side or one field; nulls stay null."""

    settings = TimestampConverterConfig
    side: ClassVar[Side]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take what times are to become and how they are written."""
        config = TimestampConverterConfig(configs)
        self._field = config.field
        self._target = KINDS[config.target_type]
        self._notation = Notation(_format(config.format, self._target), PER_SECOND[config.unix_precision])
        self._with_default = config.replace_null_with_default
        self._updated = lru_cache(maxsize=16)(self._make_updated)

    def apply(self, record: R) -> R:
        """Convert the time of one record."""
        schema, value = self.side.schema(record), self.side.value(record)
        if schema is None:
            return self.side.replaced(record, None, self._convert_plain(value))
        if not self._field:
            converted = self._converted(value, kind_of_schema(schema), schema)
            return self.side.replaced(record, self._schema(schema), converted)
        struct = None if value is None else require_struct(value, _PURPOSE, schema)
        updated = self._updated(schema)
        return self.side.replaced(record, updated, None if struct is None else self._convert_struct(struct, updated))

    def apply_batch(self, batch: Batch) -> list[Batch] | Declined:
        """Convert the column that holds the times."""
        from hearth_transforms import struct_column as columns

        schema, column = self.side.schema(batch), columns.side_column(self.side, batch)
        if schema is None:
            return NotImplemented
        if not self._field:
            converted = self._convert_column(schema, column)
            updated = self._schema(schema)
        else:
            converted = self._convert_struct_column(schema, column)
            updated = schema if converted is None else self._updated(schema)
        return NotImplemented if converted is None else [self.side.replaced_column(batch, updated, converted)]

    def _convert_plain(self, value: Any) -> Any:
        if value is None:
            return None
        if not self._field:
            return self._converted(value, kind_of_value(value))
        present = require_map(value, _PURPOSE)
        found = present.get(self._field)
        converted = None if found is None else self._converted(found, kind_of_value(found))
        return hash_ordered({**present, self._field: converted}, copied=len(present))

    def _convert_struct(self, struct: Struct, updated: Schema) -> Struct:
        converted = Struct(updated)
        for field in struct.schema.fields:
            found = struct.get(field) if self._with_default else struct.get_without_default(field)
            if field.name == self._field:
                found = self._converted(found, kind_of_schema(field.schema), field.schema)
            converted.put(field.name, found)
        return converted

    def _converted(self, value: Any, source: TimeKind, schema: Schema | None = None) -> Any:
        if value is None:
            return None
        return self._target.from_millis(source.millis(value, self._notation, schema), self._notation)

    def _convert_struct_column(self, schema: Schema, column: Any) -> Any:
        """Return the column of structs with one field converted, None where that is left to the records."""
        from hearth_transforms import struct_column as columns

        if schema.type is not Type.STRUCT or column.null_count:
            return None
        parts = columns.field_columns(schema, column, self._with_default)
        if not parts:
            return None
        field = schema.field(self._field)
        if field is not None:
            parts[field.index] = self._convert_column(field.schema, parts[field.index])
            if parts[field.index] is None:
                return None
        return columns.struct_column(self._updated(schema), parts)

    def _convert_column(self, schema: Schema, column: Any) -> Any:
        from hearth_transforms.time_column import converted

        return converted(column, kind_of_schema(schema), self._target, self._notation)

    def _schema(self, source: Schema) -> Schema:
        return self._target.optional_schema if source.optional else self._target.schema

    def _make_updated(self, schema: Schema) -> Schema:
        builder = SchemaBuilder.struct().basics(schema)
        for field in schema.fields:
            builder.field(field.name, self._schema(field.schema) if field.name == self._field else field.schema)
        if schema.optional:
            builder.optional()
        if schema.default is not None:
            builder.default(self._convert_struct(schema.default, builder.build()))
        return builder.build()


class TimestampConverterKey(TimestampConverter):
    """Converts times in the key."""

    side = KEY


class TimestampConverterValue(TimestampConverter):
    """Converts times in the value."""

    side = VALUE


def _format(pattern: str, target: TimeKind) -> DateFormat | None:
    """Return the format, which strings need as a target, and which else has to be good for reading."""
    if not pattern.strip():
        if target is STRING:
            raise ConfigError("TimestampConverter requires format option to be specified when using string timestamps")
        return None
    try:
        found = DateFormat(pattern)
        if target is not STRING:
            found.require_reading()
    except ValueError as error:
        # Kafka gives its own message in place of the key's name.
        place = f"TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: {pattern}"
        raise ConfigError(place, f"java.lang.IllegalArgumentException: {error}") from error
    except NotImplementedError as error:
        raise ConfigError("format", pattern, str(error)) from error
    return found
