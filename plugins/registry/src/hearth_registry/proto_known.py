"""Well-known Protobuf files of Google and Confluent that converters use.

The declarations are given by names and numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hearth_registry.proto_file import PROTO3, ProtoEnum, ProtoField, ProtoFile, ProtoMessage

WRAPPERS = "google/protobuf/wrappers.proto"
DATE, TIME, TIMESTAMP = "google.type.Date", "google.type.TimeOfDay", "google.protobuf.Timestamp"
DECIMAL, VARIANT = "confluent.type.Decimal", "confluent.type.Variant"
META = "confluent/meta.proto"
_WRAPPED = {
    "DoubleValue": "double", "FloatValue": "float", "Int64Value": "int64", "UInt64Value": "uint64",
    "Int32Value": "int32", "UInt32Value": "uint32", "BoolValue": "bool", "StringValue": "string",
    "BytesValue": "bytes",
}  # fmt: skip
WRAPPED = {f"google.protobuf.{name}": type_ for name, type_ in _WRAPPED.items()}
"""The wrapper messages in file order, each with the type of its only field, `value`."""
_WRAPPER_OPTIONS = [
    ("java_package", '"com.google.protobuf"'), ("java_outer_classname", '"WrappersProto"'),
    ("java_multiple_files", "true"), ("go_package", '"google.golang.org/protobuf/types/known/wrapperspb"'),
    ("cc_enable_arenas", "true"), ("objc_class_prefix", '"GPB"'),
    ("csharp_namespace", '"Google.Protobuf.WellKnownTypes"'),
]  # fmt: skip


def _message(name: str, *fields: str) -> ProtoMessage:
    """Return a message; a field is given as `TYPE NAME NUMBER`, optionally prefixed with `repeated`."""
    message = ProtoMessage(name)
    for text in fields:
        *label, type_, field, number = text.split()
        message.fields.append(ProtoField(field, type_, int(number), label[0] if label else None))
    return message


def _file(package: str, messages: Iterable[ProtoMessage], enums: Iterable[ProtoEnum] = ()) -> ProtoFile:
    return ProtoFile(PROTO3, package, messages=list(messages), enums=list(enums)).resolve()


def wrappers() -> ProtoFile:
    """Return the wrappers file as registered for values that are not structs."""
    messages = [
        ProtoMessage(name, [ProtoField("value", type_, 1, json_name="value")]) for name, type_ in _WRAPPED.items()
    ]
    return ProtoFile(PROTO3, "google.protobuf", options=list(_WRAPPER_OPTIONS), messages=messages).resolve()


def _struct() -> ProtoFile:
    null = ProtoEnum("NullValue", [("NULL_VALUE", 0)])
    entry = _message("FieldsEntry", "string key 1", "Value value 2")
    struct = _message("Struct", "repeated FieldsEntry fields 1")
    struct.entries.append(entry)
    kinds = ("NullValue null_value 1", "double number_value 2", "string string_value 3", "bool bool_value 4",
             "Struct struct_value 5", "ListValue list_value 6")  # fmt: skip
    value = _message("Value", *kinds)
    value.oneofs.append("kind")
    for field in value.fields:
        field.oneof = "kind"
    return _file("google.protobuf", [struct, value, _message("ListValue", "repeated Value values 1")], [null])


def _options(java: str, name: str, go: str = "", arenas: bool = False, prefix: str = "", sharp: str = "") -> Any:
    """Return the options of a file in number order."""
    found = [("java_package", java), ("java_outer_classname", name), ("java_multiple_files", None), ("go_package", go)]
    found += [("cc_enable_arenas", None if arenas else ""), ("objc_class_prefix", prefix), ("csharp_namespace", sharp)]
    return [(key, "true" if text is None else f'"{text}"') for key, text in found if text != ""]


_TYPE = "google.golang.org/genproto/googleapis/type/"
_OPTIONS = {
    "google/type/date.proto": _options("com.google.type", "DateProto", f"{_TYPE}date;date", True, "GTP"),
    "google/type/timeofday.proto": _options(
        "com.google.type", "TimeOfDayProto", f"{_TYPE}timeofday;timeofday", True, "GTP"
    ),
    "google/protobuf/timestamp.proto": _options(
        "com.google.protobuf", "TimestampProto", "google.golang.org/protobuf/types/known/timestamppb", True, "GPB",
        "Google.Protobuf.WellKnownTypes",
    ),
    "confluent/type/decimal.proto": _options("io.confluent.protobuf.type", "DecimalProto"),
    "confluent/type/variant.proto": _options("io.confluent.protobuf.type", "VariantProto"),
}  # fmt: skip
"""The options of files that Connect schemas import."""


def registrable(path: str) -> ProtoFile:
    """Return an imported file as registered when known types are not skipped."""
    if path == WRAPPERS:
        return wrappers()
    known = KNOWN[path]
    messages = [
        ProtoMessage(
            each.name, [ProtoField(part.name, part.type, part.number, json_name=part.name) for part in each.fields]
        )
        for each in known.messages
    ]
    return ProtoFile(PROTO3, known.package, options=_OPTIONS[path], messages=messages).resolve()


KNOWN: dict[str, ProtoFile] = {
    WRAPPERS: wrappers(),
    "google/protobuf/timestamp.proto": _file(
        "google.protobuf", [_message("Timestamp", "int64 seconds 1", "int32 nanos 2")]
    ),
    "google/protobuf/duration.proto": _file(
        "google.protobuf", [_message("Duration", "int64 seconds 1", "int32 nanos 2")]
    ),
    "google/protobuf/empty.proto": _file("google.protobuf", [_message("Empty")]),
    "google/protobuf/any.proto": _file("google.protobuf", [_message("Any", "string type_url 1", "bytes value 2")]),
    "google/protobuf/field_mask.proto": _file("google.protobuf", [_message("FieldMask", "repeated string paths 1")]),
    "google/protobuf/struct.proto": _struct(),
    "google/protobuf/descriptor.proto": _file("google.protobuf", []),
    "google/type/date.proto": _file("google.type", [_message("Date", "int32 year 1", "int32 month 2", "int32 day 3")]),
    "google/type/timeofday.proto": _file(
        "google.type", [_message("TimeOfDay", "int32 hours 1", "int32 minutes 2", "int32 seconds 3", "int32 nanos 4")]
    ),
    "google/type/latlng.proto": _file("google.type", [_message("LatLng", "double latitude 1", "double longitude 2")]),
    "google/type/money.proto": _file(
        "google.type", [_message("Money", "string currency_code 1", "int64 units 2", "int32 nanos 3")]
    ),
    "confluent/type/decimal.proto": _file(
        "confluent.type", [_message("Decimal", "bytes value 1", "uint32 precision 2", "int32 scale 3")]
    ),
    "confluent/type/variant.proto": _file(
        "confluent.type", [_message("Variant", "bytes metadata 1", "bytes value 2")]
    ),
    META: _file("confluent", []),
}
"""The files by import path."""
FILE_OF = {message.full_name: path for path, file in KNOWN.items() for message in file.messages}
"""The import paths by full message name."""
