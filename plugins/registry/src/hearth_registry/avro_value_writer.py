"""Values of Connect as Avro's binary form, one at a time: the plain form, and the measure of the form with columns.

For each schema there is one function, made of those for its parts when the schema is first seen, that appends a
value to bytes. Values that their Connect schema does not allow raise a DataError, those that the Avro schema does not
allow a PayloadError; the latter come up where a schema of the registry writes, and with symbols of enums.
"""

from __future__ import annotations

import datetime as dt
import decimal
import struct
from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Date, Decimal, Schema, Struct, Time, Timestamp, Type
from hearth_api.java import hash_ordered, java_class
from hearth_registry import avro_name as an
from hearth_registry.avro_schema_writer import is_plain_map, required
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import AvroField, AvroType
from hearth_registry.schema_format import PayloadError

Write = Callable[[bytearray, Any], None]
_RANGES = {
    Type.INT8: 1 << 7, Type.INT16: 1 << 15, Type.INT32: 1 << 31, Type.INT64: 1 << 63,
}  # fmt: skip
_DOUBLE, _FLOAT = struct.Struct("<d").pack, struct.Struct("<f").pack
_LOGICAL: dict[str | None, tuple[Any, type, str, str]] = {
    Decimal.LOGICAL_NAME: (Decimal, decimal.Decimal, "Decimal", "BigDecimal"),
    Date.LOGICAL_NAME: (Date, dt.date, "Date", "Date"),
    Time.LOGICAL_NAME: (Time, dt.time, "Time", "Date"),
    Timestamp.LOGICAL_NAME: (Timestamp, dt.datetime, "Timestamp", "Date"),
}
_BYTES = (bytes, bytearray, memoryview)
_NUMBERS = ("int", "long", "float", "double")
_ANYTHING_FIELDS = 9
_BOOLEAN, _BYTES_FIELD, _DOUBLE_FIELD, _FLOAT_FIELD, _INT, _LONG, _STRING, _ARRAY, _MAP = range(_ANYTHING_FIELDS)


def put_long(out: bytearray, value: int) -> None:
    """Append a number of up to 64 bits as Avro writes it: zig-zag, seven bits a byte, the lowest first."""
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def put_bytes(out: bytearray, value: bytes) -> None:
    """Append bytes with their length before them."""
    put_long(out, len(value))
    out += value


def put_text(out: bytearray, text: str) -> None:
    """Append a text; half a character becomes a question mark, as in Java."""
    try:
        put_bytes(out, text.encode())
    except UnicodeEncodeError:
        put_bytes(out, text.encode("utf-8", "replace"))


class ValueCompiler:
    """Makes the functions that write values of a Connect schema by an Avro schema."""

    def __init__(self, settings: AvroSettings) -> None:
        """Keep the settings."""
        self._settings = settings

    def root(self, schema: Schema | None, own: AvroType, target: AvroType) -> Write:
        """Return what writes values of a schema by `target`; `own` is the Avro schema that the schema itself has."""
        if target.kind == "bytes" and schema is not None and schema.type is Type.BYTES:
            return _raw(_physical(schema))
        return self.write(schema, own, target)

    def write(self, schema: Schema | None, own: AvroType, target: AvroType) -> Write:
        """Return what writes values of a schema, None for values that tell their type themselves."""
        if schema is None:
            return put_anything
        if an.is_union(schema):
            return self._union(schema, own, target)
        inner = _present(own) if schema.optional else own
        if target.kind == "union":
            return self._branch(schema, inner, target)
        write = self._value(required(schema), inner, target)
        return _nullable(write, None) if schema.optional else _required(write)

    def _branch(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        """Return what writes the number of a type in a union, and the value."""
        branch, head = _branch_of(own, target)
        inner = self._value(required(schema), own, branch)

        def write(out: bytearray, value: Any) -> None:
            out += head
            inner(out, value)

        if not schema.optional:
            return _required(write)
        nulls = [number for number, each in enumerate(target.branches) if each.kind == "null"]
        return _nullable(write, _number(nulls[0]) if nulls else None)

    def _value(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        """Return what writes values that are there."""
        if schema.type is Type.STRUCT:
            return self._struct(schema, own, target)
        if schema.type is Type.ARRAY:
            return self._array(schema, own, target)
        if schema.type is Type.MAP:
            return self._map(schema, own, target)
        if target.kind == "enum":
            return _enum(schema, target)
        return _scalar(schema, target)

    def _struct(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if target.kind != "record":
            return _misfit(schema, target)
        numbers = {each.name: number for number, each in enumerate(own.fields)}
        parts = [self._part(schema, own, numbers.get(each.name), each, target) for each in target.fields]

        def write(out: bytearray, value: Any) -> None:
            if type(value) is not Struct:
                raise wrong_type(schema, value)
            if value.schema is not schema and not _is_same(value.schema, schema):
                raise DataError("Mismatching struct schema")
            values = value._values
            for number, default, part in parts:
                item = values[number]
                part(out, default if item is None else item)

        return write

    def _part(
        self, schema: Schema, own: AvroType, number: int | None, field: AvroField, target: AvroType
    ) -> tuple[int, Any, Write]:
        """Return from which field a field of the target is written, by its number, its default, and what writes it."""
        if number is None:
            return 0, None, _absent(field, target)
        inner = schema.fields[number].schema
        return number, self._default(inner), self.write(inner, own.fields[number].type, field.type)

    def _default(self, schema: Schema) -> Any:
        """Return what is written in the place of a null."""
        return None if self._settings.ignore_default_for_nullables else schema.default

    def _array(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if target.kind != "array":
            return _misfit(schema, target)
        inner = self.write(schema.value_schema, own.items, target.items)

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, (list, tuple)):
                raise wrong_type(schema, value)
            if value:
                put_long(out, len(value))
                for item in value:
                    inner(out, item)
            out.append(0)

        return write

    def _map(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if not is_plain_map(schema, self._settings):
            return self._entries(schema, own, target)
        if target.kind != "map":
            return _misfit(schema, target)
        inner, keys = self.write(schema.value_schema, own.items, target.items), schema.key_schema

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, dict):
                raise wrong_type(schema, value)
            if value:
                put_long(out, len(value))
                for key, item in hash_ordered(value, keys).items():
                    if not isinstance(key, str):
                        raise wrong_type(schema, value) if key is not None else PayloadError("null key in map")
                    put_text(out, key)
                    inner(out, item)
            out.append(0)

        return write

    def _entries(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        """Return what writes a map as an array of records."""
        if target.kind != "array" or target.items.kind != "record":
            return _misfit(schema, target)
        parts = []
        for number, inner in enumerate((schema.key_schema, schema.value_schema)):
            name = own.items.fields[number].name
            field = target.items.find(name)
            parts.append(
                _misfit(schema, target)
                if field is None
                else self.write(inner, own.items.fields[number].type, field.type)
            )
        put_key, put_item = parts

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, dict):
                raise wrong_type(schema, value)
            if value:
                put_long(out, len(value))
                for key, item in value.items():
                    put_key(out, key)
                    put_item(out, item)
            out.append(0)

        return write

    def _union(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        """Return what writes the first field of a struct that is there, as the branch it stands for."""
        branches = [each for each in own.branches if each.kind != "null"]
        parts = [
            (self._default(field.schema), self._member(field.schema, branch, target))
            for field, branch in zip(schema.fields, branches)
        ]
        nulls = [number for number, each in enumerate(target.branches) if each.kind == "null"]

        def write(out: bytearray, value: Any) -> None:
            if type(value) is not Struct:
                raise wrong_type(schema, value)
            if value.schema is not schema and value.schema != schema:
                raise DataError("Mismatching struct schema")
            for item, (default, part) in zip(value._values, parts):
                if (found := default if item is None else item) is not None:
                    part(out, found)
                    return
            if not schema.optional:
                raise DataError("Found null value for non-optional schema")
            out += _number(nulls[0])

        return _nullable(write, _number(nulls[0]) if nulls else None) if schema.optional else _required(write)

    def _member(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if target.kind != "union":
            return self._value(required(schema), own, target)
        return self._branch(required(schema), own, target)


def put_anything(out: bytearray, value: Any) -> None:
    """Append a value without schema: a record with a field for each type, of which one is set, or none for null."""
    if value is None:
        out += bytes(_ANYTHING_FIELDS)
        return
    number, put = _anything_field(value)
    out += bytes(number)
    out.append(2)
    put(out, value)
    out += bytes(_ANYTHING_FIELDS - 1 - number)


def _anything_field(value: Any) -> tuple[int, Write]:
    if isinstance(value, bool):
        return _BOOLEAN, _put_boolean
    if isinstance(value, int) and -_RANGES[Type.INT64] <= value < _RANGES[Type.INT64]:
        return _LONG, put_long
    if isinstance(value, float):
        return _DOUBLE_FIELD, _put_double
    if isinstance(value, str):
        return _STRING, put_text
    if isinstance(value, (list, tuple)):
        return _ARRAY, _put_list
    if isinstance(value, dict):
        return _MAP, _put_dict
    raise DataError(f"Unknown Java type for schemaless data: class {java_class(value)}")


def _put_list(out: bytearray, value: Any) -> None:
    if value:
        put_long(out, len(value))
        for item in value:
            put_anything(out, item)
    out.append(0)


def _put_dict(out: bytearray, value: Any) -> None:
    if value:
        put_long(out, len(value))
        for key, item in value.items():
            put_anything(out, key)
            put_anything(out, item)
    out.append(0)


def wrong_type(schema: Schema, value: object) -> DataError:
    """Return the error for a value of a class that its schema does not allow."""
    return DataError(f"Invalid type for {schema.type}: class {java_class(value, schema)}")


def _required(write: Write) -> Write:
    def checked(out: bytearray, value: Any) -> None:
        if value is None:
            raise DataError("Found null value for non-optional schema")
        write(out, value)

    return checked


def _nullable(write: Write, null: bytes | None) -> Write:
    """Return what writes a null as it stands in a union; where there is no union it cannot be written."""

    def chosen(out: bytearray, value: Any) -> None:
        if value is not None:
            write(out, value)
        elif null is None:
            raise PayloadError("null where the schema allows none")
        else:
            out += null

    return chosen


def _present(own: AvroType) -> AvroType:
    """Return the type of an optional schema's values."""
    return next(each for each in own.branches if each.kind != "null") if own.kind == "union" else own


def _is_same(given: Schema, schema: Schema) -> bool:
    """Tell whether a struct has the schema, or has it but for its being optional."""
    return given == schema or (given.optional and required(given) == schema)


def _branch_of(own: AvroType, target: AvroType) -> tuple[AvroType, bytes]:
    for number, branch in enumerate(target.branches):
        if branch.full_name == own.full_name:
            return branch, _number(number)
    branch = AvroType("null")
    for number, branch in enumerate(target.branches):
        if branch.kind in _NUMBERS and own.kind in _NUMBERS[: _NUMBERS.index(branch.kind)]:
            return branch, _number(number)
    return branch, b""


def _number(number: int) -> bytes:
    out = bytearray()
    put_long(out, number)
    return bytes(out)


def _misfit(schema: Schema, target: AvroType) -> Write:
    def write(out: bytearray, value: Any) -> None:
        raise PayloadError(f"a value of type {schema.type} cannot be written as {target.full_name}")

    return write


def _absent(field: AvroField, target: AvroType) -> Write:
    """Return what writes a field that the record has not."""
    nulls = [number for number, each in enumerate(field.type.branches) if each.kind == "null"]

    def write(out: bytearray, value: Any) -> None:
        if not nulls:
            raise PayloadError(
                f"null value for (non-nullable) {field.type.full_name} at {target.short_name}.{field.name}"
            )
        out += _number(nulls[0])

    return write


def _raw(physical: Callable[[Any], Any]) -> Write:
    def write(out: bytearray, value: Any) -> None:
        if value is None:
            raise DataError("Found null value for non-optional schema")
        out += physical(value)

    return write


def _physical(schema: Schema) -> Callable[[Any], Any]:
    """Return what checks a value of a type without parts and returns its physical form."""
    if schema.name in _LOGICAL:
        return _logical(schema)
    if schema.type in _RANGES:
        return _integer(schema, _RANGES[schema.type])
    kinds: Any = {
        Type.FLOAT32: float, Type.FLOAT64: float, Type.BOOLEAN: bool, Type.STRING: str, Type.BYTES: _BYTES,
    }[schema.type]  # fmt: skip

    def checked(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise wrong_type(schema, value)
        return value

    return checked


def _integer(schema: Schema, limit: int) -> Callable[[Any], int]:
    def checked(value: Any) -> int:
        if type(value) is not int and (not isinstance(value, int) or isinstance(value, bool)):
            raise wrong_type(schema, value)
        if not -limit <= value < limit:
            raise DataError(f"Invalid type for {schema.type}: {value} is out of range")
        return value

    return checked


def _logical(schema: Schema) -> Callable[[Any], Any]:
    kind, expected, label, java = _LOGICAL[schema.name]

    def checked(value: Any) -> Any:
        is_moment_for_day = expected is dt.date and isinstance(value, dt.datetime)
        if not isinstance(value, expected) or is_moment_for_day:
            raise DataError(f"Invalid type for {label}, expected {java} but was class {java_class(value, schema)}")
        return kind.from_logical(schema, value)

    return checked


def _scalar(schema: Schema, target: AvroType) -> Write:
    physical, put = _physical(schema), _putters(schema, target)

    def write(out: bytearray, value: Any) -> None:
        put(out, physical(value))

    return write


def _putters(schema: Schema, target: AvroType) -> Write:
    """Return what appends a physical value; numbers are widened to what the target has."""
    if target.kind == "fixed" and schema.type is Type.BYTES:
        return _fixed(schema, target)
    if schema.type in _RANGES and target.kind in _NUMBERS:
        return {"int": put_long, "long": put_long, "float": _put_float, "double": _put_double}[target.kind]
    usual: dict[tuple[Type, str], Write] = {
        (Type.FLOAT32, "float"): _put_float, (Type.FLOAT32, "double"): _put_double,
        (Type.FLOAT64, "double"): _put_double, (Type.BOOLEAN, "boolean"): _put_boolean,
        (Type.STRING, "string"): put_text, (Type.BYTES, "bytes"): put_bytes,
    }  # fmt: skip
    return usual.get((schema.type, target.kind)) or _misfit(schema, target)


def _put_double(out: bytearray, value: float) -> None:
    out += _DOUBLE(value)


def _put_float(out: bytearray, value: float) -> None:
    try:
        out += _FLOAT(value)
    except OverflowError:
        out += _FLOAT(float("inf") if value > 0 else float("-inf"))


def _put_boolean(out: bytearray, value: bool) -> None:
    out.append(value)


def _enum(schema: Schema, target: AvroType) -> Write:
    numbers = {symbol: _number(number) for number, symbol in enumerate(target.symbols)}

    def write(out: bytearray, value: Any) -> None:
        if not isinstance(value, str):
            raise wrong_type(schema, value)
        number = numbers.get(value)
        if number is None:
            raise PayloadError(
                f"value {value} (a {target.name}) is not one of its symbols: {', '.join(target.symbols)}"
            )
        out += number

    return write


def _fixed(schema: Schema, target: AvroType) -> Write:
    size, is_decimal = target.size, schema.name == Decimal.LOGICAL_NAME

    def write(out: bytearray, value: bytes) -> None:
        if len(value) == size:
            out += value
        elif not is_decimal:
            raise PayloadError(f"{len(value)} bytes do not fit fixed({size}) {target.name}")
        elif len(value) > size:
            raise DataError(f"Unscaled value byte array length {len(value)} is greater than fixed size {size}")
        else:
            out += (b"\xff" if value[:1] >= b"\x80" else b"\0") * (size - len(value)) + value

    return write
