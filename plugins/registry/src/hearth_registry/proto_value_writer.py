"""Connect values as Protobuf messages, one at a time: the plain form, which the column form must match."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Schema, Struct, Type
from hearth_api.java import java_class
from hearth_registry import proto_known as known
from hearth_registry import proto_schema_writer as word
from hearth_registry.proto_file import REPEATED, ProtoEnum, ProtoField, ProtoMessage
from hearth_registry.proto_logical import WRITERS
from hearth_registry.proto_wire import DEFAULTS, ENUM, LENGTH, SCALARS, Encode, varint
from hearth_registry.protobuf_setting import ProtobufSettings

_KINDS: dict[Type, Any] = {
    **dict.fromkeys((Type.INT8, Type.INT16, Type.INT32, Type.INT64), int),
    Type.FLOAT32: float, Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str,
    Type.BYTES: (bytes, bytearray, memoryview),
}  # fmt: skip
Fill = Callable[[Struct], bytes]
"""Encodes one field of a struct with its key; empty if it is not written."""


class ProtoValueWriter:
    """Creates writers of values, each for a schema and a message."""

    def __init__(self, settings: ProtobufSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._references: dict[tuple[Schema, int], Encode] = {}

    def root(self, schema: Schema, message: ProtoMessage) -> Encode:
        """Return a writer of a root schema's values."""
        write = self._of_message(schema, message, False)

        def payload(value: Any) -> bytes:
            try:
                return write(value)
            except RecursionError as error:
                raise DataError("the value is nested too deeply") from error

        return payload

    def message(self, schema: Schema, message: ProtoMessage) -> Encode:
        """Return a writer of structs; for a recursive one it is created on first use."""
        if not schema.is_reference:
            return self._message(schema, message)
        key = (schema, id(message))

        def write(value: Any) -> bytes:
            made = self._references.get(key)
            if made is None:
                made = self._references[key] = self._message(schema, message)
            return made(value)

        return write

    def _message(self, schema: Schema, message: ProtoMessage) -> Encode:
        """Return a writer of structs, with fields in number order."""
        fills: list[tuple[int, Fill]] = []
        for field in schema.fields:
            inner = field.schema
            if word.is_union(inner):
                fills += self._union(field.name, inner, message)
            else:
                target = self.target(message, field.name)
                encode = self.field(inner, target)
                fills.append((target.number, self._fill(field.name, encode)))
        ordered = [fill for _, fill in sorted(fills, key=lambda pair: pair[0])]

        def write(value: Any) -> bytes:
            if not isinstance(value, Struct):
                raise wrong_type(schema, value)
            if value.schema is not schema and value.schema != schema:
                raise DataError("Mismatching struct schema")
            return b"".join([fill(value) for fill in ordered])

        return write

    def target(self, message: ProtoMessage, name: str) -> ProtoField:
        """Return the message field for a struct field's name."""
        found = message.find(word.scrubbed(name) if self._settings.scrub_invalid_names else name)
        if found is None:
            raise DataError(f"Cannot find field with name {name}")
        return found

    def _fill(self, name: str, encode: Encode) -> Fill:
        if self._settings.ignore_default_for_nullables:

            def fill_as_it_is(struct: Struct) -> bytes:
                value = struct.get_without_default(name)
                return b"" if value is None else encode(value)

            return fill_as_it_is

        def fill(struct: Struct) -> bytes:
            value = struct.get(name)
            return b"" if value is None else encode(value)

        return fill

    def _union(self, name: str, schema: Schema, message: ProtoMessage) -> list[tuple[int, Fill]]:
        """Return an encoder of a oneof, which writes its first non-null member."""
        members = [(each.name, self.target(message, each.name)) for each in schema.fields]
        encodes = {each.name: self.field(each.schema, self.target(message, each.name), True) for each in schema.fields}
        ignores = self._settings.ignore_default_for_nullables

        def member(wanted: str) -> Fill:
            def fill(struct: Struct) -> bytes:
                union = struct.get_without_default(name) if ignores else struct.get(name)
                if union is None:
                    return b""
                for each, _ in members:
                    value = union.get_without_default(each) if ignores else union.get(each)
                    if value is not None:
                        return encodes[each](value) if each == wanted else b""
                raise DataError("Cannot find non-null field")

            return fill

        return [(target.number, member(each)) for each, target in members]

    def field(self, schema: Schema, target: ProtoField, in_oneof: bool = False) -> Encode:
        """Return a writer of a non-null value as a field with its key."""
        if schema.type is Type.ARRAY and schema.name is None:
            return self._array(schema, target)
        if schema.type is Type.MAP:
            return self._map(schema, target)
        if target.label == REPEATED:
            raise DataError(f"Cannot write {schema.type} to the repeated field {target.name}")
        wire, encode, default = self.value(schema, target, in_oneof)
        key = varint(target.number << 3 | wire)
        if target.has_presence:
            return lambda value: key + encode(value)
        left_out = encode(default)

        def write(value: Any) -> bytes:
            content = encode(value)
            return b"" if content == left_out else key + content

        return write

    def value(self, schema: Schema, target: ProtoField, in_oneof: bool = False) -> tuple[int, Encode, Any]:
        """Return the wire type, the writer of a value without its key, and the default of the type."""
        kind = target.kind
        if isinstance(kind, ProtoEnum):
            return ENUM[0], self._enum(schema, kind), kind.values[0][0] if kind.values else ""
        if isinstance(kind, ProtoMessage):
            return LENGTH, _with_length(self._of_message(schema, kind, in_oneof)), None
        wire, encode, _ = SCALARS[kind]
        return wire, checked(schema, kind, encode), DEFAULTS[kind]

    def _of_message(self, schema: Schema, message: ProtoMessage, in_oneof: bool) -> Encode:
        if schema.name in WRITERS:
            return WRITERS[schema.name](schema)
        if schema.type is Type.STRUCT:
            return self.message(schema, message)
        if message.full_name in known.WRAPPED:
            return self._wrapped(schema, message)
        raise DataError(f"Cannot write {schema.type} as the message {message.full_name}")

    def _wrapped(self, schema: Schema, message: ProtoMessage) -> Encode:
        return self.field(schema, word.wrapper_in(schema, message).fields[0])

    def _enum(self, schema: Schema, enum: ProtoEnum) -> Encode:
        numbers: dict[Any, int] = dict(enum.values)
        name = word.ANY_ENUM if self._settings.generalized_sum_type_support else word.ENUM
        _, encode, _ = ENUM

        def write(value: Any) -> bytes:
            if isinstance(value, int) and not isinstance(value, bool):
                return encode(value)
            number = numbers.get(value) if isinstance(value, str) else None
            if number is None:
                enum_name = word.parameter(schema, name) or enum.name
                raise DataError(f"Invalid value for enum {enum_name}: {value!r}")
            return encode(number)

        return write

    def _array(self, schema: Schema, target: ProtoField) -> Encode:
        items = schema.value_schema
        assert items is not None
        if target.label != REPEATED:
            raise DataError(f"Cannot write an array to the field {target.name}, which is not repeated")
        wire, encode, default = self.value(items, target)
        is_message = isinstance(target.kind, ProtoMessage)
        nothing = b"\0" if is_message else encode(default)
        key = varint(target.number << 3 | wire)
        is_packed = target.is_packed and wire != LENGTH
        start = varint(target.number << 3 | LENGTH)

        def write(value: Any) -> bytes:
            if not isinstance(value, (list, tuple)):
                raise wrong_type(schema, value)
            parts = [nothing if item is None else encode(item) for item in value]
            if not parts:
                return b""
            if is_packed:
                content = b"".join(parts)
                return start + varint(len(content)) + content
            return key + key.join(parts)

        return write

    def _map(self, schema: Schema, target: ProtoField) -> Encode:
        keys, items = schema.key_schema, schema.value_schema
        assert keys is not None
        assert items is not None
        entry = target.kind
        if not isinstance(entry, ProtoMessage):
            raise DataError(f"Cannot write a map to the field {target.name}, which is no message")
        write_key = self.field(keys, self.target(entry, "key"))
        write_item = self.field(items, self.target(entry, "value"))
        start = varint(target.number << 3 | LENGTH)

        def write(value: Any) -> bytes:
            if not isinstance(value, dict):
                raise wrong_type(schema, value)
            parts = []
            for key, item in value.items():
                content = b"" if key is None else write_key(key)
                content += b"" if item is None else write_item(item)
                parts.append(start + varint(len(content)) + content)
            return b"".join(parts)

        return write


def checked(schema: Schema, kind: str, encode: Encode) -> Encode:
    """Return a writer of a scalar that checks its Connect type and the Protobuf type."""
    expected, default = _KINDS.get(schema.type), DEFAULTS[kind]
    if expected is None or not isinstance(default, expected) or isinstance(default, bool) is not (expected is bool):
        raise DataError(f"Cannot write {schema.type} as {kind}")

    def write(value: Any) -> bytes:
        if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
            raise wrong_type(schema, value)
        try:
            return encode(value)
        except OverflowError:
            return encode(float("inf") if value > 0 else float("-inf"))

    return write


def wrong_type(schema: Schema, value: object) -> DataError:
    """Return the error for a value that does not match its schema."""
    return DataError(f"Invalid type for {schema.type}: class {java_class(value, schema)}")


def _with_length(encode: Encode) -> Encode:
    def write(value: Any) -> bytes:
        content = encode(value)
        return varint(len(content)) + content

    return write
