"""Maps Connect's columns to Parquet as parquet-avro 1.15 maps the Avro schema of AvroData.

A part has the element of the Parquet schema, the Arrow type with the same columns and levels, and the function that
brings a column of the batch into that type. Physical values stay as they are: decimals, dates and times differ by the
annotation of their element alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, Type, needs_records
from hearth_api.batch import fill_nulls
from hearth_registry.avro_type import AvroType
from hearth_storage.format import parquet_element as pe
from hearth_storage.format.parquet_element import OPTIONAL, REPEATED, REQUIRED, Element

_PHYSICAL = {
    "boolean": pe.BOOLEAN, "int": pe.INT32, "long": pe.INT64, "float": pe.FLOAT, "double": pe.DOUBLE,
    "bytes": pe.BYTE_ARRAY, "string": pe.BYTE_ARRAY, "enum": pe.BYTE_ARRAY, "fixed": pe.FIXED,
}  # fmt: skip
_ANNOTATIONS = {"date": pe.DATE, "time-millis": pe.TIME_MILLIS, "timestamp-millis": pe.TIMESTAMP_MILLIS}
_ARROW = {
    Type.INT8: pa.int8(), Type.INT16: pa.int16(), Type.INT32: pa.int32(), Type.INT64: pa.int64(),
    Type.FLOAT32: pa.float32(), Type.FLOAT64: pa.float64(), Type.BOOLEAN: pa.bool_(), Type.STRING: pa.string(),
    Type.BYTES: pa.binary(),
}  # fmt: skip

Fill = Callable[[Any], Any]
Place = Callable[[Any, Any], Any]
"""Brings a column into a part's type; the second argument masks the rows whose parents are there, None for all."""


@dataclass(frozen=True)
class ParquetPart:
    """A part of a schema in Parquet: its element, its Arrow type, and what brings a column into that type."""

    element: Element
    kind: Any
    place: Place

    @property
    def field(self) -> Any:
        """Return the Arrow field."""
        return pa.field(self.element.name, self.kind, nullable=self.element.repetition == OPTIONAL)

    def column(self, array: Any, present: Any = None) -> Any:
        """Return a column in the part's type; raise DataError for a null where there may be none.

        A required part is null where its parent is. Arrow wants no nulls in it, and skips these rows by the parent.
        """
        if not array.null_count or self.element.repetition == OPTIONAL:
            return self.place(array, present)
        if present is None or pc.any(pc.and_(array.is_null(), present)).as_py():
            raise DataError(f"field {self.element.name!r} is null and has no default", hint="make it optional")
        return _bare(self.place(array, present))


def root_part(schema: Schema | None, avro: AvroType, *, ignores_defaults: bool) -> ParquetPart:
    """Return the part of a struct schema, as the message of a file, with the Avro schema that AvroData makes of it.

    Raises DataError for a schema that is no struct, is recursive, or holds values without schema.
    """
    record = _present(avro)
    if schema is None or schema.type is not Type.STRUCT or record.kind != "record":
        text = f"Parquet files hold structs, not {'values without schema' if schema is None else schema.type.value}"
        raise DataError(
            text, hint="use a converter with schemas, HoistField, or schema.inference.enable=true for maps"
        )
    if needs_records(schema):
        raise DataError(f"Recursive Avro schemas are not supported by parquet-avro: {record.name}")
    making = _Making(is_old=not _has_optional_items(schema), ignores_defaults=ignores_defaults)
    made = making.struct(schema, record, record.name, REQUIRED)
    return replace(made, element=replace(made.element, repetition=None))


@dataclass(frozen=True)
class _Making:
    """Builds parts; `is_old` chooses lists of two levels, which cannot hold nulls."""

    is_old: bool
    ignores_defaults: bool

    def part(self, schema: Schema | None, avro: AvroType, name: str, repetition: int = REQUIRED) -> ParquetPart:
        if schema is None:
            raise DataError(f"field {name!r} has no schema, so it has no type in Parquet")
        if avro.kind == "union" and _is_union(schema):
            return self._union(schema, avro, name, repetition)
        if avro.kind == "union":
            repetition = OPTIONAL if repetition == REQUIRED else repetition
            avro = _present(avro)
        if avro.kind == "record":
            return self.struct(schema, avro, name, repetition)
        if schema.type is Type.ARRAY:
            return self._list(self.part(schema.value_schema, avro.items, *self._item()), name, repetition)
        if schema.type is Type.MAP and avro.kind == "array":
            return self._entries(schema, avro, name, repetition)
        if schema.type is Type.MAP:
            return self._map(schema, avro, name, repetition)
        return _scalar(schema, avro, name, repetition)

    def struct(self, schema: Schema, avro: AvroType, name: str, repetition: int) -> ParquetPart:
        parts = [self.part(own.schema, field.type, field.name) for own, field in zip(schema.fields, avro.fields)]
        fills = [self._filler(each.schema) for each in schema.fields]
        return _group(name, repetition, parts, fills)

    def _union(self, schema: Schema, avro: AvroType, name: str, repetition: int) -> ParquetPart:
        branches = [each for each in avro.branches if each.kind != "null"]
        if len(branches) < len(avro.branches) and repetition == REQUIRED:
            repetition = OPTIONAL
        parts = [
            self.part(field.schema, branch, f"member{number}", OPTIONAL)
            for number, (field, branch) in enumerate(zip(schema.fields, branches))
        ]
        return _group(name, repetition, parts, [_as_it_is] * len(parts))

    def _item(self) -> tuple[str, int]:
        return ("array", REPEATED) if self.is_old else ("element", REQUIRED)

    def _list(self, item: ParquetPart, name: str, repetition: int) -> ParquetPart:
        element = item.element
        if not self.is_old:
            element = Element("list", REPEATED, children=(element,))
        kind = pa.list_(item.field)

        def place(column: Any, present: Any) -> Any:
            offsets, (values,) = _spread(column, column.values)
            return pa.Array.from_buffers(
                kind, len(column), [*_validity(column), offsets], -1, 0, [item.column(values)]
            )

        return ParquetPart(Element(name, repetition, None, pe.LIST, children=(element,)), kind, place)

    def _map(self, schema: Schema, avro: AvroType, name: str, repetition: int) -> ParquetPart:
        key = ParquetPart(Element("key", REQUIRED, pe.BYTE_ARRAY, pe.STRING), pa.string(), _placed)
        value = self.part(schema.value_schema, avro.items, "value")
        entry = Element("key_value", REPEATED, None, pe.MAP_KEY_VALUE, children=(key.element, value.element))
        kind = pa.map_(pa.string(), value.field)

        def place(column: Any, present: Any) -> Any:
            offsets, parts = _spread(column, column.keys, column.items)
            pairs = [each.column(part) for each, part in zip((key, value), parts)]
            entries = pa.StructArray.from_arrays(pairs, fields=[key.field, value.field])
            return pa.Array.from_buffers(kind, len(column), [*_validity(column), offsets], -1, 0, [entries])

        return ParquetPart(Element(name, repetition, None, pe.MAP, children=(entry,)), kind, place)

    def _entries(self, schema: Schema, avro: AvroType, name: str, repetition: int) -> ParquetPart:
        """Return a map with keys other than strings, which is a list of structs."""
        inner = (schema.key_schema, schema.value_schema)
        parts = [self.part(own, field.type, field.name) for own, field in zip(inner, avro.items.fields)]
        item = _group(*self._item(), parts, [_as_it_is] * 2)
        lists = self._list(item, name, repetition)

        def place(column: Any, present: Any) -> Any:
            offsets, columns = _spread(column, column.keys, column.items)
            pairs = pa.StructArray.from_arrays(columns, names=["key", "value"])
            buffers = [*_validity(column), offsets]
            return pa.Array.from_buffers(lists.kind, len(column), buffers, -1, 0, [item.column(pairs)])

        return replace(lists, place=place)

    def _filler(self, schema: Schema | None) -> Fill:
        """Return what replaces nulls by the default of a field, as Java's structs do."""
        if schema is None or schema.default is None or self.ignores_defaults:
            return _as_it_is

        own = schema.default.schema if schema.type is Type.STRUCT else schema
        return lambda column: fill_nulls(own, column, schema.default)


def _group(name: str, repetition: int, parts: list[ParquetPart], fills: Iterable[Fill]) -> ParquetPart:
    if not parts:
        raise DataError(f"struct {name!r} has no fields, and a group of Parquet has some")
    fields, makers = [each.field for each in parts], list(zip(parts, fills))

    def place(column: Any, present: Any) -> Any:
        own = column.is_valid() if column.null_count else None
        both = own if present is None else present if own is None else pc.and_(own, present)
        arrays = [part.column(fill(column.field(number)), both) for number, (part, fill) in enumerate(makers)]
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=None if own is None else pc.invert(own))

    element = Element(name, repetition, children=tuple(each.element for each in parts))
    return ParquetPart(element, pa.struct(fields), place)


def _bare(array: Any) -> Any:
    """Return a column whose null rows have arbitrary values."""
    if pa.types.is_struct(array.type):
        children = [array.field(number) for number in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(array.type))
    has_items = pa.types.is_list(array.type) or pa.types.is_map(array.type)
    buffers = array.buffers()[1:2] if has_items else array.buffers()[1:]
    items = [array.values] if has_items else None
    return pa.Array.from_buffers(array.type, len(array), [None, *buffers], 0, array.offset, items)


def _scalar(schema: Schema, avro: AvroType, name: str, repetition: int) -> ParquetPart:
    annotation = _ANNOTATIONS.get(avro.logical or "")
    if avro.logical == "decimal":
        annotation = pe.decimal(avro.props["scale"], avro.props["precision"])
    elif avro.kind in ("string", "enum"):
        annotation = pe.STRING if avro.kind == "string" else pe.ENUM
    element = Element(name, repetition, _PHYSICAL[avro.kind], annotation, avro.size)
    if avro.kind != "fixed":
        return ParquetPart(element, _ARROW[schema.type], _placed)
    kind = pa.binary(avro.size)
    return ParquetPart(element, kind, lambda column, present: column.cast(kind))


def _placed(column: Any, present: Any) -> Any:
    return column


def _as_it_is(column: Any) -> Any:
    return column


def _present(avro: AvroType) -> AvroType:
    """Return the branch of an optional value that is not null."""
    return next((each for each in avro.branches if each.kind != "null"), avro)


def _is_union(schema: Schema) -> bool:
    from hearth_registry.avro_name import is_union

    return is_union(schema)


def _spread(column: Any, *children: Any) -> tuple[Any, list[Any]]:
    """Return the offsets of lists from 0 as a buffer, and the parts of their children that they cover."""
    offsets = column.offsets
    if not len(column):
        return pa.py_buffer(b"\0\0\0\0"), [child.slice(0, 0) for child in children]
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    own = pc.subtract(offsets, pa.scalar(first, pa.int32()))
    return own.buffers()[1], [child.slice(first, last - first) for child in children]


def _validity(column: Any) -> list[Any]:
    """Return the bitmap of valid rows from row 0; None if all are."""
    return [column.is_valid().buffers()[1] if column.null_count else None]


def _has_optional_items(schema: Schema | None) -> bool:
    """Return whether an array has optional items: Confluent's sink then writes lists of three levels."""
    if schema is None:
        return False
    if schema.type is Type.STRUCT:
        return any(_has_optional_items(each.schema) for each in schema.fields)
    if schema.type is Type.ARRAY and schema.value_schema is not None and schema.value_schema.optional:
        return True
    return schema.type in (Type.ARRAY, Type.MAP) and _has_optional_items(schema.value_schema)
