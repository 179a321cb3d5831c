"""Checks whether a Protobuf file can read data of another, by the rules of Confluent's registry."""

from __future__ import annotations

from collections.abc import Iterator

from hearth_registry.proto_file import REPEATED, REQUIRED, Kind, ProtoEnum, ProtoField, ProtoFile, ProtoMessage

_ALIKE = (
    {"int32", "uint32", "int64", "uint64", "bool", "enum"}, {"sint32", "sint64"}, {"string", "bytes"},
    {"fixed32", "sfixed32"}, {"fixed64", "sfixed64"},
)  # fmt: skip
"""Groups of scalar types with a compatible encoding."""


def differences(reader: ProtoFile, writer: ProtoFile) -> list[str]:
    """Return the incompatibilities of `reader` with `writer`; empty if it reads everything."""
    problems: list[str] = []
    if reader.package != writer.package:
        problems.append(f"package changed from {writer.package} to {reader.package}")
    return problems + list(_messages(reader.messages, writer.messages))


def _messages(new: list[ProtoMessage], old: list[ProtoMessage]) -> Iterator[str]:
    by_name = {message.name: message for message in new}
    for message in old:
        if message.name not in by_name:
            yield f"message {message.full_name} was removed"
        else:
            yield from _message(by_name[message.name], message)


def _message(new: ProtoMessage, old: ProtoMessage) -> Iterator[str]:
    before = {each.number: each for each in old.fields}
    for each in new.fields:
        if each.number in before:
            yield from _field(new, each, before[each.number])
        elif each.label == REQUIRED:
            yield f"{new.full_name}.{each.name} was added and is required"
    numbers = {each.number for each in new.fields}
    for each in old.fields:
        if each.number not in numbers and (each.label == REQUIRED or _is_shared(old, each)):
            yield f"{new.full_name}.{each.name} was removed"
    yield from _messages(new.messages, old.messages)


def _is_shared(message: ProtoMessage, each: ProtoField) -> bool:
    """Return whether a field belongs to a oneof with several members."""
    return each.oneof is not None and sum(other.oneof == each.oneof for other in message.fields) > 1


def _field(message: ProtoMessage, new: ProtoField, old: ProtoField) -> Iterator[str]:
    name = f"{message.full_name}.{new.name}"
    if (new.label == REPEATED) is not (old.label == REPEATED) and _kind(new.kind) not in (
        "string",
        "bytes",
        "message",
    ):
        yield f"{name} changed between one and several"
    if new.label == REQUIRED and old.label != REQUIRED:
        yield f"{name} became required"
    before, after = _kind(old.kind), _kind(new.kind)
    if before != after and not any(before in kinds and after in kinds for kinds in _ALIKE):
        yield f"{name} changed from {before} to {after}"
    elif isinstance(new.kind, ProtoMessage) and isinstance(old.kind, ProtoMessage) and new.kind.name != old.kind.name:
        yield f"{name} changed from {old.kind.full_name} to {new.kind.full_name}"
    if new.oneof is not None and old.oneof is None and _is_shared(message, new):
        yield f"{name} moved to the oneof {new.oneof}"


def _kind(kind: Kind) -> str:
    if isinstance(kind, ProtoMessage):
        return "message"
    return "enum" if isinstance(kind, ProtoEnum) else kind
