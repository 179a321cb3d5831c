"""Which columns of a table the records of a topic fill, and from where."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import (
    INT32_SCHEMA,
    INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    STRING_SCHEMA,
    ConnectError,
    DataError,
    Date,
    Schema,
    Timestamp,
    Type,
)
from hearth_api.batch import Batch, values_to_column
from hearth_jdbc.calendar_system import from_hybrid, micros_from_hybrid
from hearth_jdbc.column_field import floor_divided
from hearth_jdbc.dialect.interface import MICROS
from hearth_jdbc.sink_setting import KAFKA, KAFKA_COLUMNS, NONE, RECORD_KEY, JdbcSinkConfig

_NUMBER = re.compile(r"[+-]?\d+")
_KEY, _VALUE = "key", "value"
_COORDINATES = ("topic", "partition", "offset")


@dataclass(frozen=True)
class TargetField:
    """A column, and the part of a record that fills it: a field of key or value, the whole, or a coordinate."""

    name: str
    schema: Schema
    part: str
    field: str | None = None


@dataclass(frozen=True)
class TargetFields:
    """The columns that the records of one topic and schema fill."""

    fields: Sequence[TargetField]
    keys: Sequence[str]


def target_fields(
    settings: JdbcSinkConfig, table: str, key_schema: Schema | None, value_schema: Schema | None
) -> TargetFields:
    """Return the columns for a key schema and a value schema, None for the value of deletions."""
    keys = _key_fields(settings, table, key_schema, value_schema)
    names = [each.name for each in keys]
    fields = [*keys, *_value_fields(settings, names, value_schema)]
    if not fields:
        raise ConnectError(f"records for table {table} have no fields to write")
    order = [*KAFKA_COLUMNS, *(_field_names(value_schema))]
    places = {name: place for place, name in enumerate(order)}
    fields.sort(key=lambda each: (places.get(each.name, len(places)), each.name if each.name not in places else ""))
    return TargetFields(fields, names)


def _field_names(schema: Schema | None) -> list[str]:
    return [field.name for field in schema.fields] if schema is not None and schema.type is Type.STRUCT else []


def _value_fields(settings: JdbcSinkConfig, keys: Sequence[str], schema: Schema | None) -> list[TargetField]:
    if schema is None:
        return []
    if schema.type is Type.STRING:
        return [TargetField(settings.string_column, OPTIONAL_STRING_SCHEMA, _VALUE)]
    wanted = [name.strip() for name in settings.fields_whitelist if name.strip()]
    return [
        TargetField(field.name, field.schema, _VALUE, field.name)
        for field in schema.fields
        if field.name not in keys and (not wanted or field.name in wanted)
    ]


def _key_fields(
    settings: JdbcSinkConfig, table: str, key_schema: Schema | None, value_schema: Schema | None
) -> list[TargetField]:
    mode, names = settings.keys_from, settings.key_names
    if mode == NONE:
        return []
    if mode == KAFKA:
        if names and len(names) != len(KAFKA_COLUMNS):
            raise ConnectError(f"pk.mode=kafka needs three names in pk.fields, or none, not {names}")
        schemas = (STRING_SCHEMA, INT32_SCHEMA, INT64_SCHEMA)
        return [TargetField(*each) for each in zip(names or KAFKA_COLUMNS, schemas, _COORDINATES)]
    part, schema = (_KEY, key_schema) if mode == RECORD_KEY else (_VALUE, value_schema)
    if schema is None:
        raise DataError(f"pk.mode={mode} needs records whose {part} has a schema, for table {table}")
    if schema.type is not Type.STRUCT:
        if part == _VALUE or not schema.type.is_primitive:
            raise DataError(f"pk.mode={mode} needs a struct as {part} for table {table}, not {schema.type}")
        if len(names) != 1:
            raise ConnectError(
                f"a record key of type {schema.type} is one column, so pk.fields needs one name, not {names}"
            )
        return [TargetField(names[0], schema, _KEY)]
    return [TargetField(name, _field(schema, name, part, mode), part, name) for name in names or _field_names(schema)]


def _field(schema: Schema, name: str, part: str, mode: str) -> Schema:
    field = schema.field(name)
    if field is None:
        known = ", ".join(_field_names(schema))
        raise DataError(f"pk.mode={mode}: the {part} has no field {name!r} of pk.fields, it has {known}")
    return field.schema


class RowSource:
    """Turns batches into uploads: one Arrow array per column, in the form that a dialect writes."""

    def __init__(self, settings: JdbcSinkConfig) -> None:
        """Store what changes values."""
        self._fills = settings.replace_null_with_default
        self._times = {name.strip() for name in settings.timestamp_fields_list}
        self._per_micro = 1000 if settings.timestamp_precision_mode.lower() == "nanoseconds" else 1
        self._is_hybrid = settings.is_hybrid
        in_utc = settings.date_timezone.lower() == "utc" or settings.zone == "UTC"
        self._date_zone = None if in_utc else settings.zone

    def schema_of(self, field: TargetField) -> Schema:
        """Return the schema of a column, that of a timestamp for `timestamp.fields.list`."""
        is_time = field.schema.name == Timestamp.LOGICAL_NAME or field.name in self._times
        return MICROS.replaced(optional=field.schema.optional) if is_time else field.schema

    def array(self, field: TargetField, batch: Batch) -> Any:
        """Return the values of a column for the rows of a batch, whose values are not null."""
        array = _raw(field, batch)
        default = field.schema.default
        if self._fills and default is not None and array.null_count:
            array = array.fill_null(values_to_column(field.schema, [default])[0])
        return self.converted(field, array)

    def converted(self, field: TargetField, array: Any) -> Any:
        """Return physical values of a field in the form that a dialect writes."""
        if field.schema.name == Timestamp.LOGICAL_NAME:
            micros = pc.multiply_checked(array, 1000)
            return micros_from_hybrid(micros) if self._is_hybrid else micros
        if field.name in self._times:
            return self._micros(field, array)
        if field.schema.name == Date.LOGICAL_NAME:
            return self._days(from_hybrid(array) if self._is_hybrid else array)
        return array

    def _days(self, days: Any) -> Any:
        if self._date_zone is None:
            return days
        moments = days.cast(pa.date32()).cast(pa.timestamp("ms")).cast(pa.timestamp("ms", "UTC"))
        local = pc.local_timestamp(moments.cast(pa.timestamp("ms", self._date_zone)))
        return floor_divided(local.cast(pa.int64()), 86_400_000).cast(pa.int32())

    def _micros(self, field: TargetField, array: Any) -> Any:
        if field.schema.type is Type.INT64:
            return array if self._per_micro == 1 else floor_divided(array, self._per_micro)
        if field.schema.type is not Type.STRING:
            kind = field.schema.type
            raise ConnectError(f"field {field.name!r} of timestamp.fields.list is {kind}, not INT64 or STRING")
        return pa.array(
            [None if text is None else self._parsed(field, text) for text in array.to_pylist()], pa.int64()
        )

    def _parsed(self, field: TargetField, text: str) -> int:
        if _NUMBER.fullmatch(text):
            return int(text) // self._per_micro
        try:
            moment = np.datetime64(text.removesuffix("Z"), "us")
        except ValueError as error:
            raise DataError(f"field {field.name!r} holds {text!r}, which is no timestamp") from error
        return int(moment.astype(np.int64))


def _raw(field: TargetField, batch: Batch) -> Any:
    if field.part == "topic":
        return pa.repeat(pa.scalar(batch.topic, pa.string()), batch.num_rows)
    if field.part in _COORDINATES:
        return batch.column(field.part)
    column = batch.column(field.part)
    if column is None or column.null_count:
        raise DataError(f"a record of topic {batch.topic} has no {field.part}, which fills column {field.name!r}")
    return column if field.field is None else column.field(field.field)
