"""Converts Protobuf messages to Connect schemas with the choices and losses of the Java converter."""

from __future__ import annotations

import re

from hearth_api import BYTES_SCHEMA, DataError, Date, Decimal, Schema, SchemaBuilder, Time, Timestamp, Type
from hearth_registry import proto_known as known
from hearth_registry import proto_schema_writer as word
from hearth_registry.proto_file import OPTIONAL, REPEATED, ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from hearth_registry.proto_wire import DEEPEST
from hearth_registry.protobuf_setting import ProtobufSettings

PARTS_AT_MOST = 50_000
"""Maximum number of fields and messages in a schema."""
_TYPES = {
    "double": Type.FLOAT64, "float": Type.FLOAT32, "bool": Type.BOOLEAN, "string": Type.STRING, "bytes": Type.BYTES,
    "int32": Type.INT32, "sint32": Type.INT32, "sfixed32": Type.INT32, "int64": Type.INT64, "uint32": Type.INT64,
    "uint64": Type.INT64, "sint64": Type.INT64, "fixed32": Type.INT64, "fixed64": Type.INT64, "sfixed64": Type.INT64,
}  # fmt: skip
_PLAIN = ("int32", "int64", "double", "float", "bool", "string", "bytes")
_NARROW = {"int8": Type.INT8, "int16": Type.INT16}
_VARIANT = "org.apache.kafka.connect.data.Variant"


def is_map(field: ProtoField) -> bool:
    """Return whether a field is a map: a repeated message of that name with a key and a value."""
    kind = field.kind
    if field.label != REPEATED or not isinstance(kind, ProtoMessage) or not kind.name.endswith(word.ENTRY):
        return False
    return [each.name for each in kind.fields] == ["key", "value"] and kind.fields[0].label != REPEATED != (
        kind.fields[1].label
    )


def has_null(field: ProtoField, file: ProtoFile, settings: ProtobufSettings) -> bool:
    """Return whether an unset field is null although its type has a default."""
    return _is_optional(field, file) and (file.syntax != "proto2" or settings.optional_for_proto2)


def union_names(message: ProtoMessage, settings: ProtobufSettings) -> dict[str, str]:
    """Map the names of oneofs to the names of their struct fields."""
    is_counted = settings.generate_index_for_unions
    return {oneof: f"{oneof}_{index}" if is_counted else oneof for index, oneof in enumerate(message.oneofs)}


def _is_optional(field: ProtoField, file: ProtoFile) -> bool:
    if field.oneof is not None or field.label == REPEATED:
        return False
    return field.label == OPTIONAL or (file.syntax == "proto2" and field.label is None)


class ProtoSchemaReader:
    """Converts the messages of one file to Connect schemas."""

    def __init__(self, file: ProtoFile, settings: ProtobufSettings) -> None:
        """Keep the settings."""
        self._file, self._settings = file, settings
        self._seen: dict[str, dict[str, str]] = {}
        """The parameters of completed messages by full name."""
        self._open: dict[str, SchemaBuilder] = {}
        """The messages in progress by full name."""
        self._entries: set[str] = set()
        self._count = 0

    def schema(self, message: ProtoMessage, version: int | None) -> Schema:
        """Return the schema of a root message; `version` is the registry's version."""
        if message.full_name in known.WRAPPED and self._settings.wrapper_for_raw_primitives:
            return SchemaBuilder(_TYPES[known.WRAPPED[message.full_name]]).version(version).build()
        return self._struct(message).version(version).build()

    def _struct(self, message: ProtoMessage) -> SchemaBuilder:
        self._count += 1 + len(message.fields)
        if self._count > PARTS_AT_MOST:
            raise DataError(f"Protobuf schema has more than {PARTS_AT_MOST} parts")
        if len(self._open) > DEEPEST:
            raise DataError("Protobuf schema is nested too deep")
        builder = self._open[message.full_name] = SchemaBuilder.struct().name(self._name(message))
        members_of: dict[str | None, list[ProtoField]] = {}
        for each in message.fields:
            members_of.setdefault(each.oneof, []).append(each)
        for oneof, union_name in union_names(message, self._settings).items():
            members = members_of.get(oneof, [])
            if self._settings.flatten_unions:
                for each in members:
                    builder.field(each.name, self._field(each))
            elif members:
                builder.field(union_name, self._union(message, oneof, members))
        for each in members_of.get(None, []):
            builder.field(each.name, self._field(each))
        self._seen[message.full_name] = {}
        del self._open[message.full_name]
        return builder

    def _union(self, message: ProtoMessage, oneof: str, members: list[ProtoField]) -> Schema:
        builder = SchemaBuilder.struct().optional()
        if self._settings.generalized_sum_type_support:
            builder.name(oneof).parameter(word.ANY_UNION, oneof)
        else:
            name = f"{message.full_name}.{oneof}" if self._settings.enhanced_protobuf_schema_support else oneof
            builder.name(f"{word.UNION}.{name}")
        for each in members:
            builder.field(each.name, self._field(each))
        return builder.build()

    def _field(self, field: ProtoField) -> Schema:
        if isinstance(field.kind, ProtoMessage) and field.kind.full_name in self._open and not is_map(field):
            return self._itself(field, self._open[field.kind.full_name])
        builder = self._builder(field)
        if field.label == REPEATED and not is_map(field):
            builder = SchemaBuilder.array(builder.optional().build()).optional()
        settings, kind = self._settings, field.kind
        if field.oneof is not None:
            builder.optional()
            if settings.wrapper_for_nullables and isinstance(kind, ProtoMessage) and kind.full_name in known.WRAPPED:
                builder.parameter(word.WRAPPER, "true")
        elif settings.optional_for_nullables:
            if _is_optional(field, self._file):
                builder.optional()
        elif not settings.wrapper_for_nullables:
            builder.optional()
        builder.parameter(word.TAG, str(field.number))
        if isinstance(kind, ProtoMessage) and self._seen.get(kind.full_name) == {} and field.label != REPEATED:
            self._seen[kind.full_name] = dict(builder.build().parameters or {})
        return builder.build()

    def _itself(self, field: ProtoField, message: SchemaBuilder) -> Schema:
        """Return the schema of a recursive message; as in Java, it is then optional everywhere."""
        reference = message.optional().itself(optional=True)
        if field.label == REPEATED:
            return SchemaBuilder.array(reference).optional().parameter(word.TAG, str(field.number)).build()
        return reference.with_parameters({word.TAG: str(field.number)})

    def _builder(self, field: ProtoField) -> SchemaBuilder:
        kind = field.kind
        if isinstance(kind, ProtoEnum):
            return self._enum(kind)
        if isinstance(kind, ProtoMessage):
            return self._message(field, kind).optional()
        narrow = _NARROW.get(field.params.get(word.CONNECT_TYPE, ""))
        if narrow is not None and _TYPES[kind] is Type.INT32:
            return SchemaBuilder(narrow)
        builder = SchemaBuilder(_TYPES[kind])
        return builder if kind in _PLAIN else builder.parameter(word.TYPE, kind)

    def _enum(self, enum: ProtoEnum) -> SchemaBuilder:
        settings = self._settings
        builder = SchemaBuilder.int32() if settings.int_for_enums else SchemaBuilder.string()
        name = word.ANY_ENUM if settings.generalized_sum_type_support else word.ENUM
        builder.name(enum.full_name if settings.enhanced_protobuf_schema_support else enum.name)
        builder.parameter(name, enum.name)
        for symbol, number in enum.values:
            builder.parameter(f"{name}.{symbol}", str(number))
        return builder.optional()

    def _message(self, field: ProtoField, message: ProtoMessage) -> SchemaBuilder:
        name = message.full_name
        if name == known.DECIMAL:
            return _decimal(field)
        if name in _LOGICAL:
            return _LOGICAL[name].builder()
        if name == known.VARIANT:
            return SchemaBuilder.struct().name(_VARIANT).field("metadata", BYTES_SCHEMA).field("value", BYTES_SCHEMA)
        if name in known.WRAPPED and (
            self._settings.wrapper_for_nullables or self._settings.wrapper_for_raw_primitives
        ):
            return SchemaBuilder(_TYPES[known.WRAPPED[name]])
        if is_map(field):
            return self._map(message)
        parameters = self._seen.get(name, {})
        return self._struct(message).parameters(parameters)

    def _map(self, entry: ProtoMessage) -> SchemaBuilder:
        if entry.full_name in self._entries:
            raise DataError(f"Protobuf map contains itself, which a record cannot hold: {entry.full_name}")
        self._entries.add(entry.full_name)
        key, value = (self._field(each) for each in entry.fields)
        self._entries.remove(entry.full_name)
        name = self._name(entry)
        scope, dot, last = name.rpartition(".")
        last = re.sub(r"(?<!^)(?=[A-Z])", "_", last[: -len(word.ENTRY)]).lower()
        return SchemaBuilder.map(key, value).name(scope + dot + last)

    def _name(self, message: ProtoMessage) -> str:
        return message.full_name if self._settings.enhanced_protobuf_schema_support else message.name


_LOGICAL: dict[str, type[Date] | type[Time] | type[Timestamp]] = {
    known.DATE: Date,
    known.TIME: Time,
    known.TIMESTAMP: Timestamp,
}


def _decimal(field: ProtoField) -> SchemaBuilder:
    precision, scale = (_whole(field.params.get(name)) for name in ("precision", "scale"))
    builder = Decimal.builder(scale or 0)
    return builder if precision is None else builder.parameter(word.PRECISION, str(precision))


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and re.fullmatch(r"[+-]?[0-9]{1,9}", text) else None
