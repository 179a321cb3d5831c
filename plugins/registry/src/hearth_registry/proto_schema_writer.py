"""Converts Connect schemas to Protobuf files with the names and numbers of the Java converter."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from hearth_api import DataError, Date, Decimal, Field, Schema, Time, Timestamp, Type
from hearth_api.java import hash_ordered
from hearth_registry import proto_known as known
from hearth_registry.proto_file import OPTIONAL, PROTO3, REPEATED, ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from hearth_registry.protobuf_setting import ProtobufSettings

NAMESPACE = "io.confluent.connect.protobuf"
ENUM, UNION, TAG, TYPE, WRAPPER = (f"{NAMESPACE}.{name}" for name in ("Enum", "Union", "Tag", "Type", "Wrapper"))
ANY_ENUM = "org.apache.kafka.connect.data.Enum"
ANY_UNION = "org.apache.kafka.connect.data.Union"
PRECISION = "connect.decimal.precision"
CONNECT_TYPE = "connect.type"
ENTRY = "Entry"
_DEFAULT_NAME = "ConnectDefault"
_LOGICAL: dict[str | None, str] = {
    Decimal.LOGICAL_NAME: known.DECIMAL,
    Date.LOGICAL_NAME: known.DATE,
    Time.LOGICAL_NAME: known.TIME,
    Timestamp.LOGICAL_NAME: known.TIMESTAMP,
}
_SCALARS = {
    Type.INT8: "int32", Type.INT16: "int32", Type.INT32: "int32", Type.INT64: "int64", Type.FLOAT32: "float",
    Type.FLOAT64: "double", Type.BOOLEAN: "bool", Type.STRING: "string", Type.BYTES: "bytes",
}  # fmt: skip
_WRAPPERS = {type_: name for name, type_ in known.WRAPPED.items()} | {
    "fixed32": "google.protobuf.UInt32Value",
    "fixed64": "google.protobuf.UInt64Value",
}
_NARROW = (Type.INT8, Type.INT16)
_UNSIGNED = ("uint32", "fixed32")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def parameter(schema: Schema, name: str) -> str | None:
    """Return a parameter of a schema."""
    return None if schema.parameters is None else schema.parameters.get(name)


def is_union(schema: Schema) -> bool:
    """Return whether a struct represents a oneof: the set field is the value."""
    is_named = schema.name is not None and schema.name.startswith(UNION)
    return schema.type is Type.STRUCT and (is_named or parameter(schema, ANY_UNION) is not None)


def is_enum(schema: Schema) -> bool:
    """Return whether strings or integers represent the values of an enum."""
    if schema.type is Type.INT32:
        return parameter(schema, ENUM) is not None
    return schema.type is Type.STRING and (parameter(schema, ENUM) or parameter(schema, ANY_ENUM)) is not None


def root_wrapper(schema: Schema) -> str:
    """Return the wrapper message that a non-struct root schema is registered as."""
    if schema.type not in _SCALARS:
        raise DataError(f"Unsupported root schema of type {schema.type}")
    return _WRAPPERS[_SCALARS[schema.type]]


def root_message(schema: Schema) -> ProtoMessage:
    """Return the message that non-struct root values are written as.

    Java writes logical types as their message in structs, although it registers the wrapper of their scalar.
    """
    name = _LOGICAL.get(schema.name) or root_wrapper(schema)
    file = known.KNOWN[known.FILE_OF[name]]
    return wrapper_in(schema, next(each for each in file.messages if each.full_name == name))


def wrapper_in(schema: Schema, message: ProtoMessage) -> ProtoMessage:
    """Return the wrapper message that Java writes for `message`: unsigned 32-bit numbers as signed ones."""
    if schema.type is Type.INT64 and message.full_name in known.WRAPPED and parameter(schema, TYPE) in _UNSIGNED:
        return next(each for each in known.KNOWN[known.WRAPPERS].messages if each.full_name == _WRAPPERS["int32"])
    return message


def scrubbed(name: str) -> str:
    """Scrub a name to one that Protobuf allows."""
    if not name or _PLAIN.fullmatch(name):
        return name
    encoded = re.sub(r"[^A-Za-z0-9_]", "_", quote_plus(name, safe="*").replace("~", "%7E"))
    return f"x{encoded}" if encoded[0].isdigit() or encoded[0] == "_" else encoded


def full_name(schema: Schema, settings: ProtobufSettings) -> str:
    """Return the full name of the message of a root struct."""
    parts = (schema.name or f"{_DEFAULT_NAME}1").split(".")
    return ".".join(map(scrubbed, parts)) if settings.scrub_invalid_names else ".".join(parts)


class ProtoSchemaWriter:
    """Converts Connect schemas to files."""

    def __init__(self, settings: ProtobufSettings) -> None:
        """Keep the settings."""
        self._settings = settings

    def file(self, schema: Schema) -> ProtoFile:
        """Return the file of a schema; raise DataError if Protobuf does not support it."""
        if schema.type is not Type.STRUCT:
            root_wrapper(schema)
            return known.wrappers()
        package, _, name = full_name(schema, self._settings).rpartition(".")
        return _File(self._settings, schema.name is None).made(package, name, schema)


@dataclass
class _File:
    """A file under construction."""

    settings: ProtobufSettings
    has_unnamed_root: bool
    imports: list[str] = field(default_factory=list)
    unnamed: int = 0
    structs: dict[tuple[Field, ...], str] = field(default_factory=dict)
    """Message names by the fields of their schemas, for recursive schemas."""

    def made(self, package: str, name: str, schema: Schema) -> ProtoFile:
        self.unnamed = int(self.has_unnamed_root)
        message = self.message(name, schema)
        file = ProtoFile(PROTO3, package or None, self.imports, messages=[message])
        return file.resolve(known.KNOWN[path] for path in self.imports)

    def message(self, name: str, schema: Schema) -> ProtoMessage:
        message = ProtoMessage(_checked(name))
        self.structs[schema.fields] = name
        number = 0
        for each in schema.fields:
            tag = parameter(each.schema, TAG)
            if tag is None:
                number += 1
            self.add(message, each.schema, self.name(each.name), number if tag is None else _number(tag))
        _check_numbers(message)
        return message

    def add(self, message: ProtoMessage, schema: Schema, name: str, number: int, oneof: str | None = None) -> None:
        """Add a field to a message, and the nested types it requires."""
        is_list = schema.type is Type.ARRAY
        inner = schema.value_schema if schema.type is Type.ARRAY else schema
        assert inner is not None
        if is_union(inner):
            self.oneof(message, inner)
            return
        label = REPEATED if is_list or schema.type is Type.MAP else None
        if label is None and oneof is None and self.settings.optional_for_nullables and schema.optional:
            label = OPTIONAL
        params: dict[str, str] = {}
        type_ = self.type(message, inner, name, oneof is not None, params)
        if number < 1:
            raise DataError("Field numbers must be positive integers.")
        message.fields.append(ProtoField(_checked(name), type_, number, label, oneof, hash_ordered(params)))

    def oneof(self, message: ProtoMessage, schema: Schema) -> None:
        name = parameter(schema, ANY_UNION) if self.settings.generalized_sum_type_support else None
        if name is None:
            name = self.short((schema.name or "")[len(UNION) + 1 :] or None)
        message.oneofs.append(_checked(name))
        for each in schema.fields:
            self.add(message, each.schema, self.name(each.name), _number(parameter(each.schema, TAG) or "0"), name)

    def type(self, message: ProtoMessage, schema: Schema, name: str, in_oneof: bool, params: dict[str, str]) -> str:
        """Return the type of a field; declare or import what it requires."""
        type_ = _LOGICAL.get(schema.name)
        if type_ == known.DECIMAL:
            numbers = {"precision": parameter(schema, PRECISION), "scale": parameter(schema, Decimal.SCALE_FIELD)}
            params.update((key, text) for key, text in numbers.items() if text is not None)
        if type_ is None and schema.type is Type.STRUCT and schema.name == "org.apache.kafka.connect.data.Variant":
            type_ = known.VARIANT
        if type_ is not None:
            return self.imported(type_)
        if schema.type is Type.STRUCT:
            return self.struct(message, schema, name)
        if schema.type is Type.MAP:
            return self.map(message, schema)
        if schema.type is Type.ARRAY:
            raise DataError("Array cannot be nested")
        if is_enum(schema):
            return self.enum(message, schema)
        return self.scalar(schema, in_oneof, params)

    def struct(self, message: ProtoMessage, schema: Schema, field_name: str) -> str:
        if schema.is_reference and schema.fields in self.structs:
            return self.structs[schema.fields]
        type_ = self.short(schema.name)
        if type_ == field_name:
            type_ += "Message"
        if type_ != message.name and all(type_ != each.name for each in message.messages):
            # Reserved before it is built, because a nested type may have the same name.
            place = len(message.messages)
            message.messages.append(ProtoMessage(type_))
            message.messages[place] = self.message(type_, schema)
        return type_

    def map(self, message: ProtoMessage, schema: Schema) -> str:
        type_ = self.short(schema.name)
        if "_" in type_:
            type_ = "".join(part[:1].upper() + part[1:].lower() for part in type_.split("_"))
        entry = ProtoMessage(_checked(type_ + ENTRY))
        keys, items = schema.key_schema, schema.value_schema
        assert keys is not None
        assert items is not None
        self.add(entry, keys, "key", 1)
        self.add(entry, items, "value", 2)
        for each in entry.fields:
            each.label = None if each.label == OPTIONAL else each.label
        if any(each.name == entry.name for each in message.messages):
            raise DataError(
                f'Invalid protobuf schema definition: "{entry.name}" is already defined in "{message.name}".',
                hint="give each map of a struct a name of its own",
            )
        message.messages.append(entry)
        return entry.name

    def enum(self, message: ProtoMessage, schema: Schema) -> str:
        name = self.short(schema.name)
        if all(each.name != name for each in message.enums):
            prefix = f"{ANY_ENUM if self.settings.generalized_sum_type_support else ENUM}."
            parameters = (schema.parameters or {}).items()
            values = [(key[len(prefix) :], _number(text)) for key, text in parameters if key.startswith(prefix)]
            message.enums.append(ProtoEnum(_checked(name), values))
        any_enum = parameter(schema, ANY_ENUM) if schema.type is Type.STRING else None
        return any_enum or parameter(schema, ENUM) or name

    def scalar(self, schema: Schema, in_oneof: bool, params: dict[str, str]) -> str:
        type_ = _SCALARS[schema.type]
        if schema.type in _NARROW:
            params[CONNECT_TYPE] = schema.type.value
        elif schema.type in (Type.INT32, Type.INT64):
            type_ = parameter(schema, TYPE) or type_
        if is_wrapped(schema, self.settings, in_oneof):
            wrapper = _WRAPPERS.get(type_, _WRAPPERS[_SCALARS[schema.type]])
            return self.imported(_WRAPPERS["int32"] if schema.type is Type.INT32 else wrapper)
        return type_

    def imported(self, type_: str) -> str:
        path = known.FILE_OF[type_]
        if path not in self.imports:
            self.imports.append(path)
        return type_

    def short(self, name: str | None) -> str:
        """Return a name without its namespace, or the next default name."""
        if not name:
            self.unnamed += 1
            name = f"{_DEFAULT_NAME}{self.unnamed}"
        return self.name(name.rpartition(".")[2])

    def name(self, name: str) -> str:
        return scrubbed(name) if self.settings.scrub_invalid_names else name


def is_wrapped(schema: Schema, settings: ProtobufSettings, in_oneof: bool) -> bool:
    """Return whether a scalar uses a wrapper message, which distinguishes null from the default."""
    is_marked = not in_oneof or parameter(schema, WRAPPER) == "true"
    return settings.wrapper_for_nullables and schema.optional and is_marked


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise DataError(f"not a number of a field or an enum: {text!r}") from error


def _checked(name: str) -> str:
    if not _IDENTIFIER.fullmatch(name):
        raise DataError(
            f'Invalid protobuf schema definition: "{name}" is not a valid identifier.',
            hint="scrub.invalid.names=true changes such names",
        )
    return name


def _check_numbers(message: ProtoMessage) -> None:
    names: dict[int, str] = {}
    for each in message.fields:
        other = names.setdefault(each.number, each.name)
        if other is not each.name:
            raise DataError(
                f"Invalid protobuf schema definition: Field number {each.number} has already been used in"
                f' "{message.name}" by field "{other}".'
            )
