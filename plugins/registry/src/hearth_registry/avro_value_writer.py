"""Encodes Connect values as Avro payloads one at a time: the plain form, which the column form must match.

For each schema a function that appends a value to bytes is composed from those of its parts, once. A value that its
Connect schema does not allow raises DataError, one that the Avro schema does not allow PayloadError; the latter occurs
when writing with a registered schema, and for enum symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hearth_api import DataError, Schema, Struct, Type
from hearth_api.java import hash_ordered
from hearth_registry import avro_name as an
from hearth_registry.avro_anything import put_anything
from hearth_registry.avro_output import Write, number_bytes, put_long, put_text
from hearth_registry.avro_scalar import NUMBERS, enum_writer, mismatch, physical_of, scalar_writer, wrong_type
from hearth_registry.avro_schema_writer import is_plain_map, required
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_type import AvroField, AvroType
from hearth_registry.schema_format import PayloadError


class ValueCompiler:
    """Creates writers of Connect values with an Avro schema."""

    def __init__(self, settings: AvroSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._references: dict[tuple[Schema, int, int], Write] = {}

    def root(self, schema: Schema | None, own: AvroType, target: AvroType) -> Write:
        """Return a writer of a schema's values with `target`; `own` is its own Avro schema."""
        if target.kind == "bytes" and schema is not None and schema.type is Type.BYTES:
            return _raw(physical_of(schema))
        return self.write(schema, own, target)

    def write(self, schema: Schema | None, own: AvroType, target: AvroType) -> Write:
        """Return a writer of a schema's values; None as schema means that the value determines its type."""
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
        """Return a writer of a union: the branch number and the value."""
        branch, head = _branch_of(own, target)
        inner = self._value(required(schema), own, branch)

        def write(out: bytearray, value: Any) -> None:
            out += head
            inner(out, value)

        if not schema.optional:
            return _required(write)
        nulls = [number for number, each in enumerate(target.branches) if each.kind == "null"]
        return _nullable(write, number_bytes(nulls[0]) if nulls else None)

    def _value(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        """Return a writer of non-null values."""
        if schema.type is Type.STRUCT:
            return self._struct(schema, own, target)
        if schema.type is Type.ARRAY:
            return self._array(schema, own, target)
        if schema.type is Type.MAP:
            return self._map(schema, own, target)
        if target.kind == "enum":
            return enum_writer(schema, target)
        return scalar_writer(schema, target)

    def _struct(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if target.kind != "record":
            return mismatch(schema, target)
        if schema.is_reference:
            return self._reference(schema, own, target)
        return self._fields(schema, own, target)

    def _reference(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        """Return a writer of recursive structs, created when the first one occurs."""
        key = (schema, id(own), id(target))

        def write(out: bytearray, value: Any) -> None:
            made = self._references.get(key)
            if made is None:
                made = self._references[key] = self._fields(schema, own, target)
            made(out, value)

        return write

    def _fields(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        names = an.field_names(schema, self._settings.scrub_invalid_names)
        numbers = {name: number for number, name in enumerate(names)}
        if any(own.find(name) is None for name in numbers):
            return mismatch(schema, own)  # the record of this name belongs to another struct
        parts = [self._part(schema, own, numbers.get(each.name), each, target) for each in target.fields]

        def write(out: bytearray, value: Any) -> None:
            if type(value) is not Struct:
                raise wrong_type(schema, value)
            if value.schema is not schema and not _is_same(value.schema, schema):
                raise DataError("Mismatching struct schema")
            values = value._values
            for number, default, part in parts:
                item = None if number is None else values[number]
                part(out, default if item is None else item)

        return write

    def _part(
        self, schema: Schema, own: AvroType, number: int | None, field: AvroField, target: AvroType
    ) -> tuple[int | None, Any, Write]:
        """Return the index of the source field for a target field, its default and its writer."""
        if number is None:
            return None, None, _absent(field, target)
        inner, own_field = schema.fields[number].schema, own.find(field.name)
        assert own_field is not None
        return number, self._default(inner), self.write(inner, own_field.type, field.type)

    def _default(self, schema: Schema) -> Any:
        """Return the replacement of a null."""
        return None if self._settings.ignore_default_for_nullables else schema.default

    def _array(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if target.kind != "array":
            return mismatch(schema, target)
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
            return mismatch(schema, target)
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
        """Return a writer of a map as an array of records."""
        if target.kind != "array" or target.items.kind != "record":
            return mismatch(schema, target)
        parts = []
        for number, inner in enumerate((schema.key_schema, schema.value_schema)):
            name = own.items.fields[number].name
            field = target.items.find(name)
            parts.append(
                mismatch(schema, target)
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
        """Return a writer of a union struct: its first non-null field, as that field's branch."""
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
            out += number_bytes(nulls[0])

        return _nullable(write, number_bytes(nulls[0]) if nulls else None) if schema.optional else _required(write)

    def _member(self, schema: Schema, own: AvroType, target: AvroType) -> Write:
        if target.kind != "union":
            return self._value(required(schema), own, target)
        return self._branch(required(schema), own, target)


def _required(write: Write) -> Write:
    def checked(out: bytearray, value: Any) -> None:
        if value is None:
            raise DataError("Found null value for non-optional schema")
        write(out, value)

    return checked


def _nullable(write: Write, null: bytes | None) -> Write:
    """Return a writer of a null branch; raises if the schema is not a union."""

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
    """Return whether a struct has the schema, ignoring optionality."""
    return given == schema or (given.optional and required(given) == schema)


def _branch_of(own: AvroType, target: AvroType) -> tuple[AvroType, bytes]:
    for number, branch in enumerate(target.branches):
        if branch.full_name == own.full_name:
            return branch, number_bytes(number)
    branch = AvroType("null")
    for number, branch in enumerate(target.branches):
        if branch.kind in NUMBERS and own.kind in NUMBERS[: NUMBERS.index(branch.kind)]:
            return branch, number_bytes(number)
    return branch, b""


def _absent(field: AvroField, target: AvroType) -> Write:
    """Return a writer of a target field that the struct lacks."""
    nulls = [number for number, each in enumerate(field.type.branches) if each.kind == "null"]

    def write(out: bytearray, value: Any) -> None:
        if not nulls:
            raise PayloadError(
                f"null value for (non-nullable) {field.type.full_name} at {target.short_name}.{field.name}"
            )
        out += number_bytes(nulls[0])

    return write


def _raw(physical: Callable[[Any], Any]) -> Write:
    def write(out: bytearray, value: Any) -> None:
        if value is None:
            raise DataError("Found null value for non-optional schema")
        out += physical(value)

    return write
