"""Decodes Avro payloads to Connect values one at a time: the plain form, which the column form must match.

For each schema a function that reads a value at a cursor is composed from those of its parts, once. If the reader's
schema differs from the writer's, Avro's schema resolution applies: numbers are promoted, fields are matched by name,
missing fields get their defaults.
"""

from __future__ import annotations

from typing import Any

from hearth_api import DataError, Date, Decimal, Field, Schema, Struct, Time, Timestamp, Type
from hearth_api.java import hash_ordered, wrap
from hearth_registry import avro_name as an
from hearth_registry.avro_anything import anything_at, as_key
from hearth_registry.avro_compatibility import WIDER, is_same
from hearth_registry.avro_input import (
    PLAIN,
    Cursor,
    Read,
    branch_at,
    bytes_at,
    counts,
    fixed_of,
    int_at,
    least_size,
    null_at,
    rest_at,
    rest_text_at,
    text_at,
)
from hearth_registry.avro_map_order import order_read
from hearth_registry.avro_scalar import PHYSICAL
from hearth_registry.avro_schema_reader import default_of
from hearth_registry.avro_setting import AvroSettings
from hearth_registry.avro_skip import Skipping
from hearth_registry.avro_type import NO_DEFAULT, AvroField, AvroType
from hearth_registry.schema_format import PayloadError

_LOGICAL: dict[str | None, Any] = {kind.LOGICAL_NAME: kind for kind in (Date, Decimal, Time, Timestamp)}


class ReaderCompiler:
    """Creates readers of Connect values."""

    def __init__(self, settings: AvroSettings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._references: dict[tuple[Schema, int, int], Read] = {}

    def read(self, written: AvroType, wanted: AvroType, schema: Schema | None) -> Read:
        """Return a reader that resolves values of one schema to another, whose Connect schema is given."""
        if schema is None:
            return anything_at
        if written.kind == "union":
            return self._union(written, wanted, schema)
        if wanted.kind == "union":
            return self._as_branch(written, wanted, self._match(written, wanted), schema)
        return self._value(written, wanted, schema)

    def raw(self, wanted: AvroType, schema: Schema | None) -> Read:
        """Return a reader of a root bytes value, which has no length prefix."""
        if schema is None or schema.type not in (Type.BYTES, Type.STRING):
            return _mismatch(AvroType("bytes"), wanted)
        return _logical(schema, rest_at if schema.type is Type.BYTES else rest_text_at)

    def _union(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        """Return a reader of a union: the branch number and the value after it."""
        parts: list[Read] = []
        for number, branch in enumerate(written.branches):
            if written is wanted:
                parts.append(self._as_branch(branch, wanted, number, schema))
            else:
                parts.append(self.read(branch, wanted, schema))
        if len(parts) == 2 and written.branches[0].kind == "null" and parts[0] is null_at:
            return _nullable(parts[1], parts)

        def read(cursor: Cursor) -> Any:
            return branch_at(cursor, parts)(cursor)

        return read

    def _as_branch(self, written: AvroType, wanted: AvroType, number: int | None, schema: Schema) -> Read:
        """Return a reader of a value as one of the branches of a union."""
        if number is None:
            return _mismatch(written, wanted)
        branch = wanted.branches[number]
        if branch.kind == "null":
            return null_at
        if not (an.is_union(schema) and schema.type is Type.STRUCT):
            return self._value(written, branch, schema)
        place = sum(each.kind != "null" for each in wanted.branches[:number])
        inner, blank = self._value(written, branch, schema.fields[place].schema), [None] * len(schema.fields)

        def read(cursor: Cursor) -> Any:
            values: list[Any] = blank.copy()
            values[place] = inner(cursor)
            return Struct.unchecked(schema, values)

        return read

    def _match(self, written: AvroType, wanted: AvroType) -> int | None:
        """Return the index of the branch that a value resolves to: the same type, else a wider one."""
        for fits in (is_same, _is_wider):
            for number, branch in enumerate(wanted.branches):
                if fits(branch, written):
                    return number
        return None

    def _value(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        are_records = written.kind == wanted.kind == "record"  # their names may differ except in unions
        if not (are_records or is_same(wanted, written) or _is_wider(wanted, written)):
            return _mismatch(written, wanted)
        if written.kind == "record":
            return (self._reference if schema.is_reference else self._record)(written, wanted, schema)
        if written.kind == "array":
            return self._array(written, wanted, schema)
        if written.kind == "map":
            return self._map(written, wanted, schema)
        if written.kind == "enum":
            return _enum(written, wanted)
        return _logical(schema, _scalar(written, wanted))

    def _reference(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        """Return a reader of recursive records, created when the first one occurs."""
        key = (schema, id(written), id(wanted))

        def read(cursor: Cursor) -> Any:
            made = self._references.get(key)
            if made is None:
                made = self._references[key] = self._record(written, wanted, schema)
            return made(cursor)

        return read

    def _record(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        parts: list[tuple[int, Read]] = []
        blank: list[Any] = [None] * len(wanted.fields)
        for each in written.fields:
            number = wanted.place(each.name)
            if number is None:
                parts.append((-1, self.skip(each.type)))
            else:
                blank[number] = NO_DEFAULT
                parts.append((number, self.read(each.type, wanted.fields[number].type, schema.fields[number].schema)))
        for number, each in enumerate(wanted.fields):
            if blank[number] is not NO_DEFAULT:
                if each.default is NO_DEFAULT:
                    return _fail(f"Found {written.name}, expecting {wanted.name}, missing required field {each.name}")
                blank[number] = self._default(each, schema.fields[number].schema)
        if [number for number, _ in parts] == list(range(len(blank))):
            reads = [read for _, read in parts]
            return lambda cursor: Struct.unchecked(schema, [read(cursor) for read in reads])
        blank.append(None)  # skipped

        def read(cursor: Cursor) -> Any:
            values = blank.copy()
            for number, part in parts:
                values[number] = part(cursor)
            return Struct.unchecked(schema, values[:-1])

        return read

    def _default(self, field: AvroField, schema: Schema) -> Any:
        return None if field.default is None else default_of(schema, field.type, field.default, self._settings)

    def _array(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        if schema.type is Type.MAP:
            return self._entries(written, wanted, schema)
        inner, least = self.read(written.items, wanted.items, schema.value_schema), least_size(written.items)

        def read(cursor: Cursor) -> list[Any]:
            items: list[Any] = []
            while count := counts(cursor, least):
                items += [inner(cursor) for _ in range(count)]
            return items

        return read

    def _entries(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        """Return a reader of an array of records as a map."""
        record = wanted.items
        fields = [record.find(name) for name in ("key", "value")]
        order = [record.fields.index(field) for field in fields if field is not None]
        inner = [schema.key_schema, schema.value_schema]
        places = dict(zip(order, inner))
        builder = Schema(Type.STRUCT, fields=_as_fields(record, [places[number] for number in range(2)]))
        entry, least, keys = self.read(written.items, record, builder), least_size(written.items), schema.key_schema

        def read(cursor: Cursor) -> dict[Any, Any]:
            pairs: dict[Any, Any] = {}
            while count := counts(cursor, least):
                for _ in range(count):
                    values = entry(cursor)._values
                    pairs[as_key(values[order[0]])] = values[order[1]]
            return hash_ordered(pairs, keys, capacity=len(pairs))

        return read

    def _map(self, written: AvroType, wanted: AvroType, schema: Schema) -> Read:
        inner = self.read(written.items, wanted.items, schema.value_schema)
        least, are_utf8 = 1 + least_size(written.items), has_utf8(wanted)

        def read(cursor: Cursor) -> dict[str, Any]:
            pairs: dict[str, Any] = {}
            while count := counts(cursor, least):
                for _ in range(count):
                    key = text_at(cursor)
                    pairs[key] = inner(cursor)
            if len(pairs) < 2:
                return pairs
            return {key: pairs[key] for key in order_read(tuple(pairs), are_utf8)}

        return read

    def skip(self, written: AvroType) -> Read:
        """Return a reader that skips a value."""
        return Skipping().skip(written)


def has_utf8(type_: AvroType) -> bool:
    """Return whether Java reads map keys of this type as `Utf8`, which is the default."""
    return type_.props.get("avro.java.string") != "String"


def _as_fields(record: AvroType, schemas: list[Schema | None]) -> list[Any]:
    return [Field(each.name, number, schema) for number, (each, schema) in enumerate(zip(record.fields, schemas))]  # type: ignore[arg-type]


def _nullable(inner: Read, parts: list[Read]) -> Read:
    def read(cursor: Cursor) -> Any:
        byte = cursor.data[cursor.pos]
        if byte == 0:
            cursor.pos += 1
            return None
        if byte == 2:
            cursor.pos += 1
            return inner(cursor)
        return branch_at(cursor, parts)(cursor)

    return read


def _is_wider(wanted: AvroType, written: AvroType) -> bool:
    return wanted.kind in WIDER.get(written.kind, ())


def _mismatch(written: AvroType, wanted: AvroType) -> Read:
    names = ", ".join(each.full_name for each in wanted.branches)
    return _fail(f"Found {written.full_name}, expecting {f'[{names}]' if names else wanted.full_name}")


def _unlike(schema: Schema) -> Read:
    def read(cursor: Cursor) -> Any:
        raise DataError(f"a schema of type {schema.type} cannot be a {schema.name}")

    return read


def _fail(complaint: str) -> Read:
    def read(cursor: Cursor) -> Any:
        raise PayloadError(complaint)

    return read


def _scalar(written: AvroType, wanted: AvroType) -> Read:
    """Return a reader of a scalar as the wanted kind."""
    if written.kind == "fixed":
        return fixed_of(written.size)
    if wanted.kind == "bytes":
        return bytes_at
    if wanted.kind == "string":
        return text_at
    inner = PLAIN[written.kind]
    if wanted.kind in ("float", "double") and written.kind in ("int", "long"):
        return lambda cursor: float(inner(cursor))
    return inner


def _logical(schema: Schema, inner: Read) -> Read:
    """Return a function that converts a number or bytes to a logical type, or narrows a number."""
    kind = _LOGICAL.get(schema.name)
    if kind is not None and schema.type is not PHYSICAL[kind.LOGICAL_NAME]:
        return _unlike(schema)
    if kind is not None:
        return lambda cursor: kind.to_logical(schema, inner(cursor))
    if schema.type is Type.INT8 or schema.type is Type.INT16:
        bits = 8 if schema.type is Type.INT8 else 16
        return lambda cursor: wrap(inner(cursor), bits)
    return inner


def _enum(written: AvroType, wanted: AvroType) -> Read:
    known = frozenset(wanted.symbols)
    texts = [symbol if symbol in known else wanted.default for symbol in written.symbols]

    def read(cursor: Cursor) -> str:
        number = int_at(cursor)
        if not 0 <= number < len(texts):
            raise PayloadError(f"{number} is no symbol of {written.name}, which has {len(texts)}")
        text = texts[number]
        if text is None:
            raise PayloadError(f"No match for {written.symbols[number]}")
        return text

    return read
