"""Protobuf messages to Connect values, one at a time: the plain form, which the column form must match."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hearth_api import DataError, Schema, Struct, Type
from hearth_api.java import hash_ordered, wrap
from hearth_registry.proto_file import REPEATED, REQUIRED, ProtoEnum, ProtoField, ProtoFile, ProtoMessage
from hearth_registry.proto_logical import READERS, Read
from hearth_registry.proto_schema_reader import has_null, is_map, union_names
from hearth_registry.proto_wire import (
    DEEPEST,
    DEFAULTS,
    ENUM,
    LENGTH,
    SCALARS,
    Decode,
    read_length,
    read_varint,
    skip,
)
from hearth_registry.protobuf_setting import ProtobufSettings
from hearth_registry.schema_format import PayloadError

_TOO_DEEP = "Protocol message had too many levels of nesting"
_UNKNOWN = object()
"""Marks a number without symbol in a closed enum."""
_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}


@dataclass
class _Slot:
    """The reader of a field, and its index in the struct or its oneof's struct."""

    field: ProtoField
    schema: Schema
    convert: Callable[[Any], Any]
    place: int
    decodes: dict[int, Decode]
    union: tuple[int, Schema] | None = None
    is_map: bool = False
    is_message: bool = False
    missing: Any = None
    """Its value if unset: a value, or a function that creates one."""


class ProtoValueReader:
    """Creates readers for the messages of one file."""

    def __init__(self, file: ProtoFile, settings: ProtobufSettings) -> None:
        """Keep the settings."""
        self._file, self._settings = file, settings
        self._references: dict[tuple[Schema, int], Read] = {}
        self._depth = 0
        """The current nesting depth of recursive messages."""

    def root(self, schema: Schema, message: ProtoMessage) -> Read:
        """Return a reader of a root message's payloads as values of its Connect schema."""
        read = self.message(schema, message) if schema.type is Type.STRUCT else self._wrapped(schema, message)

        def payload(data: bytes) -> Any:
            try:
                return read(data)
            except RecursionError as error:
                raise PayloadError(_TOO_DEEP) from error

        return payload

    def message(self, schema: Schema, message: ProtoMessage, depth: int = 0) -> Read:
        """Return a reader of a message as a struct; for a recursive one it is created on first use."""
        if not schema.is_reference:
            return self._message(schema, message, depth)
        key = (schema, id(message))

        def read(data: bytes) -> Any:
            made = self._references.get(key)
            if made is None:
                made = self._references[key] = self._message(schema, message, 0)
            around, self._depth = self._depth, self._depth + depth
            try:
                if self._depth > DEEPEST:
                    raise PayloadError(_TOO_DEEP)
                return made(data)
            finally:
                self._depth = around

        return read

    def _message(self, schema: Schema, message: ProtoMessage, depth: int) -> Read:
        slots = self._slots(schema, message, depth)
        by_key: dict[int, tuple[int, _Slot, Decode]] = {}
        for index, slot in enumerate(slots):
            for wire, decode in slot.decodes.items():
                by_key[slot.field.number << 3 | wire] = index, slot, decode
        count = len(schema.fields)

        def read(data: bytes) -> Struct:
            raws: list[Any] = [None] * len(slots)
            self._fill(data, by_key, raws)
            values: list[Any] = [None] * count
            for slot, raw in zip(slots, raws):
                if slot.union is None:
                    values[slot.place] = _value(slot, raw)
                elif raw is not None:
                    place, union = slot.union
                    members: list[Any] = [None] * len(union.fields)
                    members[slot.place] = slot.convert(raw)
                    values[place] = Struct.unchecked(union, members)
            return Struct.unchecked(schema, values)

        return read

    def _fill(self, data: bytes, by_key: dict[int, tuple[int, _Slot, Decode]], raws: list[Any]) -> None:
        """Read all fields of a message; the last member of a oneof wins; parts of a message are merged."""
        at, end = 0, len(data)
        chosen: dict[str, int] = {}
        while at < end:
            key = data[at]
            at += 1
            if key > 127:
                key, at = read_varint(data, at - 1, end)
            found = by_key.get(key)
            if found is None:
                if key < 8:
                    raise PayloadError("Protocol message contained an invalid tag (zero)")
                at = skip(data, at, end, key)
                continue
            index, slot, decode = found
            value, at = decode(data, at, end)
            if slot.field.label == REPEATED:
                items = raws[index]
                if items is None:
                    items = raws[index] = []
                items.extend(value) if type(value) is _Packed else items.append(value)
            elif value is not _UNKNOWN:
                before = raws[index] if slot.is_message else None
                raws[index] = value if before is None else before + value
                if slot.field.oneof is not None:
                    other = chosen.get(slot.field.oneof, index)
                    if other != index:
                        raws[other] = None
                    chosen[slot.field.oneof] = index

    def _slots(self, schema: Schema, message: ProtoMessage, depth: int) -> list[_Slot]:
        if depth > DEEPEST:
            raise DataError("Protobuf schema is nested too deep")
        slots = []
        names = union_names(message, self._settings)
        for each in message.fields:
            union = None
            owner = schema
            if each.oneof is not None and not self._settings.flatten_unions:
                place = _field_of(schema, names[each.oneof])
                owner = place.schema
                union = place.index, owner
            target = _field_of(owner, each.name)
            slots.append(self._slot(each, target.schema, target.index, union, depth))
        return slots

    def _slot(
        self, each: ProtoField, schema: Schema, place: int, union: tuple[int, Schema] | None, depth: int
    ) -> _Slot:
        inner, has_map = schema, is_map(each)
        if each.label == REPEATED and not has_map:
            assert schema.value_schema is not None
            inner = schema.value_schema
        convert = self._entry(each, schema, depth) if has_map else self._convert(each, inner, depth)
        slot = _Slot(each, schema, convert, place, _decodes(each), union, has_map, isinstance(each.kind, ProtoMessage))
        slot.missing = self._missing(each, inner, convert)
        return slot

    def _missing(self, each: ProtoField, schema: Schema, convert: Callable[[Any], Any]) -> Any:
        """Return the value of an unset field, None or a function that creates it."""
        if each.label == REPEATED:
            return list
        if each.label == REQUIRED:
            return _refused(each)
        if isinstance(each.kind, ProtoMessage):
            is_made = self._settings.generate_struct_for_nulls and each.oneof is None
            return (lambda: convert(b"")) if is_made else None
        is_null = each.oneof is not None or has_null(each, self._file, self._settings)
        if is_null and not self._settings.generate_struct_for_nulls:
            return None
        if is_null and each.oneof is not None:
            return None
        default = convert(_default(each))
        return lambda: default

    def _convert(self, each: ProtoField, schema: Schema, depth: int) -> Callable[[Any], Any]:
        """Return a function that converts the decoded bytes of a field or item to its value."""
        kind = each.kind
        if isinstance(kind, ProtoEnum):
            return (lambda number: number) if schema.type is Type.INT32 else _symbols(kind)
        if isinstance(kind, ProtoMessage):
            if schema.name in READERS:
                return READERS[schema.name](schema)
            if schema.type is not Type.STRUCT:
                return self._wrapped(schema, kind)
            return self.message(schema, kind, depth + 1)
        bits = _BITS.get(schema.type)
        if bits is None or (schema.type is Type.INT64 and kind not in ("uint64",)) or schema.type is Type.INT32:
            return lambda value: value
        return lambda number: wrap(number, bits)

    def _wrapped(self, schema: Schema, message: ProtoMessage) -> Read:
        """Return a reader of a wrapper message as its value."""
        each = message.fields[0]
        convert = self._convert(each, schema, 0)
        slot = _Slot(each, schema, convert, 0, _decodes(each))
        by_key = {each.number << 3 | wire: (0, slot, decode) for wire, decode in slot.decodes.items()}
        default = convert(_default(each))

        def read(data: bytes) -> Any:
            raws: list[Any] = [None]
            self._fill(data, by_key, raws)
            return default if raws[0] is None else convert(raws[0])

        return read

    def _entry(self, each: ProtoField, schema: Schema, depth: int) -> Callable[[Any], Any]:
        """Return a reader of a map entry's key and value, with defaults for unset ones."""
        assert isinstance(each.kind, ProtoMessage)
        keys, items = schema.key_schema, schema.value_schema
        assert keys is not None
        assert items is not None
        slots = [self._slot(part, inner, 0, None, depth + 1) for part, inner in zip(each.kind.fields, (keys, items))]
        by_key = {
            slot.field.number << 3 | wire: (index, slot, decode)
            for index, slot in enumerate(slots)
            for wire, decode in slot.decodes.items()
        }

        def read(data: bytes) -> tuple[Any, Any]:
            raws: list[Any] = [None, None]
            self._fill(data, by_key, raws)
            key, item = (slot.convert(_default(slot.field) if raw is None else raw) for slot, raw in zip(slots, raws))
            if isinstance(key, (list, dict)):
                raise DataError("a map whose keys are arrays or maps cannot be held in Python")
            return key, item

        return read


class _Packed(list[Any]):
    """Packed items."""


def _value(slot: _Slot, raw: Any) -> Any:
    if raw is None:
        missing = slot.missing
        value = None if missing is None else missing()
        return {} if slot.is_map else value
    if slot.is_map:
        return hash_ordered(dict(map(slot.convert, raw)), slot.schema.key_schema)
    if slot.field.label == REPEATED:
        return [slot.convert(item) for item in raw]
    return slot.convert(raw)


def _field_of(schema: Schema, name: str) -> Any:
    found = schema.field(name)
    if found is None:
        raise DataError(f"{name} is not a valid field name")
    return found


def _refused(each: ProtoField) -> Callable[[], Any]:
    def refuse() -> Any:
        raise PayloadError(f"Message missing required fields: {each.name}")

    return refuse


def _decodes(each: ProtoField) -> dict[int, Decode]:
    """Return the readers of a field's content by wire type; repeated numbers may be packed."""
    kind = each.kind
    if isinstance(kind, ProtoMessage):
        _, _, decode = SCALARS["bytes"]
        return {LENGTH: decode}
    wire, _, decode = ENUM if isinstance(kind, ProtoEnum) else SCALARS[kind]
    if isinstance(kind, ProtoEnum) and kind.is_closed:
        decode = _closed(kind, decode)
    if each.label != REPEATED or wire == LENGTH:
        return {wire: decode}
    return {wire: decode, LENGTH: _unpacked(decode)}


def _unpacked(decode: Decode) -> Decode:
    def read(data: bytes, at: int, end: int) -> tuple[Any, int]:
        at, end = read_length(data, at, end)
        items = _Packed()
        while at < end:
            item, at = decode(data, at, end)
            items.append(item)
        return items, end

    return read


def _closed(enum: ProtoEnum, decode: Decode) -> Decode:
    numbers = {number for _, number in enum.values}

    def read(data: bytes, at: int, end: int) -> tuple[Any, int]:
        number, at = decode(data, at, end)
        return (number if number in numbers else _UNKNOWN), at

    return read


def _symbols(enum: ProtoEnum) -> Callable[[Any], Any]:
    names: dict[int, str] = {}
    for name, number in enum.values:
        names.setdefault(number, name)
    return lambda number: names.get(number) or f"UNKNOWN_ENUM_VALUE_{enum.name}_{number}"


def _default(each: ProtoField) -> Any:
    """Return the value of an unset field."""
    kind, default = each.kind, each.default
    if isinstance(kind, ProtoMessage):
        return b""
    if isinstance(kind, ProtoEnum):
        return dict(kind.values).get(default or "", kind.values[0][1] if kind.values else 0)
    if default is None:
        return DEFAULTS[kind]
    if kind in ("string", "bytes"):
        return default if kind == "string" else default.encode("latin-1", "replace")
    if kind == "bool":
        return default == "true"
    try:
        return float(default) if kind in ("double", "float") else int(default, 0)
    except ValueError:
        return DEFAULTS[kind]
