"""Splits columns of structs into field columns, checks, masks and assembles them.

The first batch loads this module and Arrow, so that a host that only reads definitions saves 25 MB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import STRING_SCHEMA, Field, Schema, Struct, Type
from hearth_api.batch import Batch, Declined, LateErrors, PartlyFailed, arrow_type, column_to_values, values_to_column
from hearth_api.layout import constant
from hearth_transforms.attribute import Attribute
from hearth_transforms.mask import mask
from hearth_transforms.row_error import RowErrors
from hearth_transforms.side import Side


def side_column(side: Side, batch: Batch) -> Any:
    """Return the column of a side, nulls if the batch omits it."""
    column = batch.column(side.name)
    return pa.nulls(batch.num_rows, arrow_type(side.schema(batch))) if column is None else column


def attribute_column(attribute: Attribute, batch: Batch) -> Any:
    """Return the column of an attribute, None if a required one is missing."""
    found = attribute.of_batch(batch)
    if isinstance(found, str):
        return repeated(STRING_SCHEMA, found, batch.num_rows)
    is_left_out = found is None and not attribute.is_needed
    return pa.nulls(batch.num_rows, arrow_type(attribute.schema)) if is_left_out else found


def runs(batch: Batch, chosen: Any) -> Iterator[Batch]:
    """Split the batch into runs of rows with equal values in ``chosen``."""
    cuts = np.flatnonzero(np.diff(chosen.to_numpy(zero_copy_only=False))) + 1
    starts = [0, *cuts.tolist()]
    for start, end in zip(starts, [*starts[1:], batch.num_rows]):
        yield batch.slice(start, end - start)


Change = Callable[[Batch, Schema, Any], "tuple[Schema, Any] | None"]
"""Transforms the schema and column of a batch; returns None if it cannot."""


def with_present(side: Side, batch: Batch, change: Change) -> list[Batch] | PartlyFailed | Declined:
    """Return the batch with the values of a side changed; nulls keep their schema, so they are split off.

    Failing rows are returned with their errors.
    """
    schema, column = side.schema(batch), side_column(side, batch)
    if column.null_count == len(column):
        return [batch]
    if schema is None:
        return NotImplemented
    if column.null_count:
        pieces = list(runs(batch, column.is_null()))
        return _together(pieces, [with_present(side, piece, change) for piece in pieces])
    errors = LateErrors()
    places = np.arange(len(column))
    while len(places):
        try:
            changed = change(batch, schema, side_column(side, batch))
        except RowErrors as failed:
            errors.add_part(failed.errors, places)
            kept = np.ones(len(places), bool)
            kept[list(failed.errors)] = False
            places, batch = places[kept], batch.filter(pa.array(kept))
            continue
        if changed is None:
            return NotImplemented
        made = [side.replaced_column(batch, *changed)]
        return PartlyFailed(made, errors) if errors else made
    return PartlyFailed([], errors)


def _together(pieces: Sequence[Batch], parts: Sequence[Any]) -> list[Batch] | PartlyFailed | Declined:
    """Combine the results of consecutive pieces."""
    if any(part is NotImplemented for part in parts):
        return NotImplemented
    made: list[Batch] = []
    errors: dict[int, Exception] = {}
    first = 0
    for piece, part in zip(pieces, parts):
        own = part if isinstance(part, PartlyFailed) else PartlyFailed(part, {})
        made += own.result
        errors |= {first + place: error for place, error in own.errors.items()}
        first += piece.num_rows
    return PartlyFailed(made, errors) if errors else made


def with_structs(side: Side, batch: Batch, change: Change) -> list[Batch] | PartlyFailed | Declined:
    """Return the batch with the structs of a side changed by a function that returns field columns."""

    def changed(part: Batch, schema: Schema, column: Any) -> tuple[Schema, Any] | None:
        made = change(part, schema, column) if schema.type is Type.STRUCT else None
        return (made[0], struct_column(*made)) if made and made[1] else None

    return with_present(side, batch, changed)


def field_column(column: Any, field: Field, with_default: bool) -> Any:
    """Return the values of a field: null for a null struct, the default for a null field."""
    child = column.field(field.index)
    default = field.schema.default
    if with_default and default is not None and child.null_count:
        # The schema of a default struct lacks that default, so it differs from the field's schema.
        own_schema = default.schema if isinstance(default, Struct) else field.schema
        child = child.fill_null(values_to_column(own_schema, [default])[0])
    if not column.null_count:
        return child
    return pc.if_else(column.is_valid(), child, pa.scalar(None, child.type))


def path_column(column: Any, fields: Iterable[Field], with_default: bool) -> Any:
    """Return the values of the last of some nested fields; defaults always replace nulls on the path."""
    *outer, last = fields
    for field in outer:
        column = field_column(column, field, with_default=True)
    return field_column(column, last, with_default)


def field_columns(schema: Schema, column: Any, with_default: bool) -> list[Any] | None:
    """Return the values of all fields of structs; None if a new struct would refuse one of them."""
    columns = [field_column(column, field, with_default) for field in schema.fields]
    fit = all(is_sound(field.schema, part) for field, part in zip(schema.fields, columns))
    return columns if fit else None


def struct_column(schema: Schema, columns: Sequence[Any]) -> Any:
    """Return non-null structs of these field columns."""
    return pa.StructArray.from_arrays(list(columns), fields=list(arrow_type(schema)))


def spread(column: Any, is_there: Any) -> Any:
    """Spread the values in order over the rows where ``is_there`` is true; the others are null."""
    places = is_there.to_numpy(zero_copy_only=False)
    return column.take(pa.array(np.cumsum(places) - 1, mask=~places))


def repeated(schema: Schema, value: Any, count: int) -> Any:
    """Return a column with one value in every row."""
    if schema.type.is_primitive:
        return pa.repeat(values_to_column(schema, [value])[0], count)
    return values_to_column(schema, [value]).take(pa.array(np.zeros(count, np.int64)))


def masked_column(column: Any, schema: Schema, replacement: str | None) -> Any:
    """Apply `mask` to each value of a column."""
    # The masked value depends only on the type, so one value determines all.
    if column.null_count == len(column):
        return column
    first = int(np.argmax(column.is_valid().to_numpy(zero_copy_only=False)))
    (value,) = column_to_values(schema, column.slice(first, 1))
    nulls = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    places = pa.array(np.zeros(len(column), np.int64), mask=nulls)
    return values_to_column(schema, [mask(value, schema, replacement)]).take(places)


def steps(column: Any, width: int) -> Any:
    """Return the index of the step of a given width for each number of a column without nulls."""
    return pa.array(column.to_numpy() // width)


def has_header(batch: Batch, name: str) -> Any:
    """Return for each row whether it has a header with the name."""
    answers = np.zeros(batch.num_rows, np.bool_)
    headers = batch.column("headers")
    if headers is not None:
        found = pc.equal(headers.flatten().field("key"), constant(name))
        answers[pc.list_parent_indices(headers).filter(found).to_numpy()] = True
    return pa.array(answers)


def is_sound(schema: Schema, column: Any) -> bool:
    """Return whether a struct accepts all values: nulls occur only where they are allowed, also inside values."""
    return (schema.optional or not column.null_count) and _is_sound_inside(schema, column)


def _is_sound_inside(schema: Schema, column: Any) -> bool:
    if schema.type.is_primitive or not len(column):
        return True
    present = column.drop_null()
    if schema.type is Type.STRUCT:
        return all(_is_sound_field(field.schema, present.field(field.index)) for field in schema.fields)
    first, last = present.offsets[0].as_py(), present.offsets[-1].as_py()
    if schema.type is Type.ARRAY:
        return _is_sound_part(schema.value_schema, present.values.slice(first, last - first))
    keys, items = present.keys.slice(first, last - first), present.items.slice(first, last - first)
    return _is_sound_part(schema.key_schema, keys) and _is_sound_part(schema.value_schema, items)


def _is_sound_field(schema: Schema, column: Any) -> bool:
    may_be_null = schema.optional or schema.default is not None
    return (may_be_null or not column.null_count) and _is_sound_inside(schema, column)


def _is_sound_part(schema: Schema | None, column: Any) -> bool:
    return schema is not None and is_sound(schema, column)
