"""Converts columns of Arrow tables to columns of Connect data, type by type, and back.

Tables have fixed-width decimals, times in seconds to nanoseconds, dictionaries, and different names for list elements;
Connect has the shortest bytes of a decimal, milliseconds and days. All other types share the same memory layout.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import arrow_type, column_to_values, fill_nulls
from hearth_api.builder import SchemaBuilder
from hearth_api.errors import DataError, UnknownNameError
from hearth_api.logical import Date, Decimal, Time, Timestamp
from hearth_api.schema import Schema, Type
from hearth_api.schema_reference import is_text

PRECISION = "connect.decimal.precision"
"""The schema parameter for a decimal's precision, as database connectors write it."""
_MOST_DIGITS = 38
_PER_MILLISECOND = {"s": None, "ms": 1, "us": 1_000, "ns": 1_000_000}

T = TypeVar("T", bound="TableColumn")
Convert = Callable[[Any], Any]
Form = tuple[SchemaBuilder, Convert]
"""The unfinished schema of a type and the function that converts its columns."""


@dataclass(frozen=True)
class TableColumn:
    """A table column in Connect: its schema, and the function that converts the table's column to the physical one.

    A schemaless column holds plain JSON text. `convert` preserves the rows and accepts slices.
    """

    schema: Schema | None
    convert: Convert

    @classmethod
    def of(cls, kind: Any, place: str, *, is_nullable: bool = True) -> TableColumn:
        """Return the conversion of an Arrow type; `place` names it in errors.

        Raises DataError for a type that Connect lacks.
        """
        return cls.built(_form(kind, place), is_nullable)

    @classmethod
    def built(cls: type[T], form: Form, is_nullable: bool, doc: str | None = None) -> T:
        """Return the column for a form."""
        builder, convert = form
        return cls((builder.optional() if is_nullable else builder).doc(doc).build(), convert)


def struct_form(names: Sequence[str], parts: Sequence[TableColumn]) -> Form:
    """Return the form of structs with these parts."""
    builder = SchemaBuilder.struct()
    for name, part in zip(names, parts):
        builder.field(name, _known(part))
    fields = [pa.field(name, arrow_type(part.schema)) for name, part in zip(names, parts)]

    def convert(column: Any) -> Any:
        if not fields:
            return column
        arrays = [part.convert(column.field(index)) for index, part in enumerate(parts)]
        mask = column.is_null() if column.null_count else None
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)

    return builder, convert


def list_form(element: TableColumn) -> Form:
    """Return the form of lists of such elements."""
    kind = pa.list_(arrow_type(element.schema))

    def convert(column: Any) -> Any:
        return _with_parts(column, kind, element.convert(column.values))

    return SchemaBuilder.array(_known(element)), convert


def map_form(key: TableColumn, value: TableColumn) -> Form:
    """Return the form of maps of such keys and values."""
    kind = pa.map_(arrow_type(key.schema), arrow_type(value.schema))
    entries = [pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]

    def convert(column: Any) -> Any:
        pairs = [key.convert(column.keys), value.convert(column.items)]
        return _with_parts(column, kind, pa.StructArray.from_arrays(pairs, fields=entries))

    return SchemaBuilder.map(_known(key), _known(value)), convert


def _known(part: TableColumn) -> Schema:
    assert part.schema is not None, "a part of a value has a schema"
    return part.schema


def plain_form(kind: Any) -> Form | None:
    """Return the form of an Arrow type without parts; None if Connect lacks it."""
    types = pa.types
    if types.is_decimal(kind):
        wide = kind if kind.byte_width >= 16 else pa.decimal128(kind.precision, kind.scale)
        builder = Decimal.builder(kind.scale).parameter(PRECISION, str(kind.precision))
        return builder, lambda column: _decimals(column.cast(wide))
    if types.is_date(kind):
        return Date.builder(), lambda column: column.cast(pa.date32()).cast(pa.int32())
    if types.is_timestamp(kind):
        return Timestamp.builder(), lambda column: _milliseconds(column.cast(pa.timestamp(kind.unit)), pa.int64())
    if types.is_time(kind):
        return Time.builder(), lambda column: _milliseconds(column, pa.int32())
    for is_kind, build in _PLAIN:
        if any(getattr(types, f"is_{each}")(kind) for each in is_kind.split()):
            return build(), _as(arrow_type(build().build()))
    return None


def _as(kind: Any) -> Convert:
    return lambda column: column if column.type == kind else column.cast(kind)


_PLAIN: list[tuple[str, Callable[[], SchemaBuilder]]] = [
    ("int8", SchemaBuilder.int8),
    ("int16 uint8", SchemaBuilder.int16),
    ("int32 uint16", SchemaBuilder.int32),
    ("int64 uint32 uint64", SchemaBuilder.int64),
    ("float16 float32", SchemaBuilder.float32),
    ("float64", SchemaBuilder.float64),
    ("boolean", SchemaBuilder.boolean),
    ("string large_string string_view null", SchemaBuilder.string),
    ("binary large_binary binary_view fixed_size_binary", SchemaBuilder.bytes),
]
"""Arrow types and the same or next larger Connect type."""


def _form(kind: Any, place: str) -> Form:
    types = pa.types
    if types.is_struct(kind):
        parts = [TableColumn.of(each.type, f"{place}.{each.name}", is_nullable=each.nullable) for each in kind]
        return struct_form([each.name for each in kind], parts)
    if types.is_map(kind):
        key = TableColumn.of(kind.key_type, f"{place}.key", is_nullable=False)
        return map_form(key, TableColumn.of(kind.item_type, f"{place}.value", is_nullable=kind.item_field.nullable))
    if any(is_kind(kind) for is_kind in _lists()):
        element = TableColumn.of(kind.value_type, f"{place}[]", is_nullable=kind.value_field.nullable)
        builder, convert = list_form(element)
        return builder, convert if types.is_list(kind) else lambda column: convert(_as_lists(column))
    if types.is_dictionary(kind):
        builder, inside = _form(kind.value_type, place)
        return builder, lambda column: inside(column.dictionary_decode())
    if isinstance(kind, pa.BaseExtensionType):
        builder, stored = _form(kind.storage_type, place)
        return builder, lambda column: stored(column.storage)
    form = plain_form(kind)
    if form is None:
        text = f"column {place} is of type {kind}, which a record of Connect cannot hold"
        raise DataError(text, code="data.type", hint="cast it")
    return form


def _lists() -> Sequence[Callable[[Any], bool]]:
    types = pa.types
    return types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view


def _as_lists(column: Any) -> Any:
    """Return lists of another kind as plain lists. Arrow's own cast leaves the offsets of views too short."""
    lengths = pa.compute.list_value_length(column).cast(pa.int32()).fill_null(0)
    ends = pa.concat_arrays([pa.array([0], pa.int32()), pa.compute.cumulative_sum_checked(lengths)])
    return pa.ListArray.from_arrays(ends, pa.compute.list_flatten(column), mask=column.is_null())


def _with_parts(column: Any, kind: Any, parts: Any) -> Any:
    """Return lists with the offsets of a column and other parts."""
    buffers = column.buffers()[:2]
    return pa.Array.from_buffers(kind, len(column), buffers, column.null_count, column.offset, [parts])


def _milliseconds(column: Any, kind: Any) -> Any:
    """Return milliseconds converted from another unit, rounded down from a finer one."""
    import numpy as np

    wide = pa.int32() if column.type.bit_width == 32 else pa.int64()
    count = column.cast(wide).cast(pa.int64())
    each = _PER_MILLISECOND[column.type.unit]
    if each is None:
        return pa.compute.multiply_checked(count, 1_000).cast(kind)
    if each == 1:
        return count.cast(kind)
    coarse = np.floor_divide(count.fill_null(0).to_numpy(zero_copy_only=False), each)
    mask = count.is_null().to_numpy(zero_copy_only=False) if count.null_count else None
    return pa.array(coarse, pa.int64(), mask=mask).cast(kind)


def _decimals(column: Any) -> Any:
    """Return the unscaled numbers as the shortest big-endian two's complement, as Java has them."""
    import numpy as np

    count, width = len(column), column.type.byte_width
    memory = np.frombuffer(column.buffers()[1], np.uint8) if count else np.zeros(0, np.uint8)
    start = column.offset * width
    digits = memory[start : start + count * width].reshape(count, width)[:, ::-1]
    sign = np.where(digits[:, :1] >= 128, np.uint8(255), np.uint8(0))
    # a leading byte is redundant if it only repeats the sign, which is also the highest bit of the next byte
    is_idle = (digits[:, :-1] == sign) & ((digits[:, 1:] >= 128) == (sign == 255))
    lead = np.cumprod(is_idle, axis=1, dtype=np.uint8).sum(axis=1, dtype=np.int32)
    valid = np.ones(count, bool) if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    kept = (np.arange(width) >= lead[:, None]) & valid[:, None]
    ends = np.concatenate([[0], np.cumsum(np.where(valid, width - lead, 0), dtype=np.int64)])
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{count} decimals in one batch")
    validity = pa.array(valid).buffers()[1] if column.null_count else None
    buffers = [validity, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(digits[kept].tobytes())]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


# Tables ------------------------------------------------------------------------------------------------------


def struct_of_table(table: Any, name: str | None) -> tuple[Schema, Any]:
    """Return the schema of a table's rows, with the given name, and the rows as a column of structs."""
    table = _arrow_table(table)
    names, parts, arrays = table.schema.names, [], []
    for field, column in zip(table.schema, table.columns):
        part = TableColumn.of(field.type, field.name, is_nullable=field.nullable)
        if column.null_count and not field.nullable:
            raise DataError(f"column {field.name} has nulls, which its field forbids")
        parts.append(part)
        arrays.append(_converted(field.name, part, column))
    builder, _ = struct_form(names, parts)
    schema = builder.name(name).build()
    kind = arrow_type(schema)
    if not names:
        return schema, pa.array([{}] * table.num_rows, kind)
    return schema, pa.StructArray.from_arrays(arrays, fields=list(kind))


def _arrow_table(table: Any) -> Any:
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, pa.RecordBatchReader):
        return table.read_all()
    if not hasattr(table, "__arrow_c_stream__") and not hasattr(table, "__arrow_c_array__"):
        text = f"a batch is made of what has Arrow's PyCapsule interface, not of {type(table).__qualname__}"
        raise DataError(text, hint="give a pyarrow Table, or a DataFrame of polars or pandas (2.2 or later)")
    return pa.table(table)


def _converted(name: str, part: TableColumn, column: Any) -> Any:
    try:
        whole = column.combine_chunks()
        if isinstance(whole, pa.ChunkedArray):
            raise OverflowError("it is too large for one batch")
        return part.convert(whole)
    except (pa.ArrowException, OverflowError) as error:
        raise DataError(f"column {name} cannot be values of Connect: {error}") from error


def chosen_columns(schema: Schema, rows: Any, names: str | Sequence[str]) -> tuple[Schema, Any]:
    """Return the schema and the column of one field of structs, or of a struct of several fields."""
    if isinstance(names, str):
        field = schema.field(names)
        if field is None:
            known = tuple(each.name for each in schema.fields)
            raise UnknownNameError("the table", "column", names, known)
        return field.schema, rows.field(field.index)
    builder, arrays = SchemaBuilder.struct(), []
    for name in names:
        own, column = chosen_columns(schema, rows, name)
        builder.field(name, own)
        arrays.append(column)
    chosen = builder.build()
    return chosen, pa.StructArray.from_arrays(arrays, fields=list(arrow_type(chosen)))


def moments(schema: Schema, rows: Any, name: str) -> Any:
    """Return a field of structs as a column of milliseconds since 1970."""
    own, column = chosen_columns(schema, rows, name)
    if own.type is not Type.INT64:
        raise DataError(f"column {name} has no timestamps, it is of type {own!r}")
    return column


def table_of(schema: Schema | None, column: Any) -> Any:
    """Return a physical struct column as a table of its fields, any other as a table with the column `value`."""
    made = table_column(schema, column)
    if not pa.types.is_struct(made.type):
        return pa.table([made], schema=pa.schema([_table_field("value", schema, made)]))
    fields = [
        pa.field(each.name, each.type, nullable=each.nullable or made.null_count > 0) for each in made.type
    ]  # fmt: skip
    return pa.table(made.flatten(), schema=pa.schema(fields))


# Back --------------------------------------------------------------------------------------------------------


def table_column(schema: Schema | None, column: Any) -> Any:
    """Return a physical column as a table column, with Arrow's types for decimals, dates, times and timestamps.

    A null in a required field becomes its default. Schemaless values stay JSON text.
    """
    if schema is None or is_text(schema):
        return column
    if schema.type is Type.STRUCT:
        return _table_struct(schema, column)
    if schema.type is Type.ARRAY:
        parts = table_column(schema.value_schema, column.values)
        return _with_parts(column, pa.list_(_table_field("item", schema.value_schema, parts)), parts)
    if schema.type is Type.MAP:
        pairs = [table_column(schema.key_schema, column.keys), table_column(schema.value_schema, column.items)]
        entries = [
            pa.field("key", pairs[0].type, nullable=False), _table_field("value", schema.value_schema, pairs[1])
        ]  # fmt: skip
        kind = pa.map_(*entries)
        return _with_parts(column, kind, pa.StructArray.from_arrays(pairs, fields=entries))
    return _table_scalar(schema, column)


def _table_struct(schema: Schema, column: Any) -> Any:
    if not schema.fields:
        return column
    arrays = [table_column(each.schema, _filled(each.schema, column.field(each.index))) for each in schema.fields]
    fields = [_table_field(each.name, each.schema, array) for each, array in zip(schema.fields, arrays)]
    return pa.StructArray.from_arrays(arrays, fields=fields, mask=column.is_null() if column.null_count else None)


def _table_field(name: str, schema: Schema | None, column: Any) -> Any:
    is_nullable = schema is None or schema.optional or column.null_count > 0
    return pa.field(name, column.type, nullable=is_nullable)


def _filled(schema: Schema, column: Any) -> Any:
    if schema.optional or schema.default is None:
        return column
    own = schema.default.schema if schema.type is Type.STRUCT else schema  # a default has no default of its own
    return fill_nulls(own, column, schema.default)


def _table_scalar(schema: Schema, column: Any) -> Any:
    if schema.name == Decimal.LOGICAL_NAME:
        text = (schema.parameters or {}).get(PRECISION, "")
        digits = int(text) if text.isdecimal() and int(text) > 0 else _MOST_DIGITS
        kind = (pa.decimal128 if digits <= _MOST_DIGITS else pa.decimal256)(digits, Decimal.scale(schema))
        try:
            return pa.array(column_to_values(schema, column), kind)
        except pa.ArrowInvalid as error:
            raise DataError(f"a decimal has more digits than {kind}") from error
    if schema.name == Date.LOGICAL_NAME:
        return column.cast(pa.date32())
    if schema.name == Time.LOGICAL_NAME:
        return column.cast(pa.time32("ms"))
    if schema.name == Timestamp.LOGICAL_NAME:
        return column.cast(pa.timestamp("ms", "UTC"))
    return column
