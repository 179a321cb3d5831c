"""Converts rows of Python values to a column as `Struct.of` does, without a struct for each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import arrow_type, values_to_column
from hearth_api.errors import DataError, UnknownNameError
from hearth_api.python_value import fitted, members
from hearth_api.schema import Schema, Type
from hearth_api.schema_reference import is_text
from hearth_api.struct import Struct

_BY_PLACE = frozenset((tuple, list))


def rows_to_column(schema: Schema | None, rows: Iterable[Any]) -> Any:
    """Return rows as an Arrow array; one that does not fit the schema raises a DataError.

    Rows of a struct schema are tuples of field values, mappings, dataclass instances or structs; rows of any other
    schema are values. None is null.
    """
    values = rows if isinstance(rows, list) else list(rows)
    if schema is None:
        return values_to_column(None, values)
    if schema.type is not Type.STRUCT or is_text(schema):
        return _fitted_column(schema, values)
    if not schema.fields:
        return values_to_column(schema, [None if row is None else Struct.of(schema, row or {}) for row in values])
    mask = [row is None for row in values]
    has_nulls = True in mask
    present = [row for row in values if row is not None] if has_nulls else values
    arrays = [
        _member_column(field.schema, field.name, part) for field, part in zip(schema.fields, _parts(schema, present))
    ]
    column = pa.StructArray.from_arrays(arrays, fields=list(arrow_type(schema)))
    if not has_nulls:
        return column
    places = iter(range(len(values)))
    return column.take(pa.array([None if is_null else next(places) for is_null in mask], pa.int64()))


def _parts(schema: Schema, rows: Sequence[Any]) -> Iterable[Sequence[Any]]:
    """Return the values of each field."""
    names = [field.name for field in schema.fields]
    if not rows:
        return [()] * len(names)
    if _BY_PLACE.issuperset(map(type, rows)):
        _check_lengths(rows, len(names))
        return zip(*rows)
    if set(map(type, rows)) == {dict}:
        known = frozenset(names)
        for row in rows:
            if not row.keys() <= known:
                _known(schema, names, row)
        return [[row.get(name) for row in rows] for name in names]
    return zip(*[_by_name(schema, names, row) for row in rows])


def _check_lengths(rows: Sequence[Any], count: int) -> None:
    for place, row in enumerate(rows):
        if len(row) != count:
            raise DataError(f"row {place} has {len(row)} values, where the schema has {count} fields")


def _by_name(schema: Schema, names: Sequence[str], row: Any) -> Sequence[Any]:
    if isinstance(row, (tuple, list)):
        _check_lengths([row], len(names))
        return row
    if isinstance(row, Struct):
        return row.raw_values() if row.schema == schema else [row[name] for name in _known(schema, names, row)]
    own = members(row)
    if own is None:
        text = f"a row is a tuple, a mapping or a dataclass instance, not {type(row).__qualname__}"
        raise DataError(text, hint="a row of a struct with one field is (value,)")
    return [own.get(name) for name in _known(schema, names, own)]


def _known(schema: Schema, names: Sequence[str], row: Any) -> Sequence[str]:
    if strange := [name for name in row if name not in names]:
        raise UnknownNameError(schema.name or "the struct", "field", strange[0], tuple(names))
    return names


def _member_column(schema: Schema, name: str, values: Sequence[Any]) -> Any:
    if not schema.optional and schema.default is None and None in map(_nothing, values):
        raise DataError(f'Invalid value: null used for required field: "{name}", schema type: {schema.type}')
    return _fitted_column(schema, values)


def _nothing(value: Any) -> Any:
    return None if value is None else 0  # `is`, since a value's own == may be arbitrary


def _fitted_column(schema: Schema, values: Sequence[Any]) -> Any:
    """Return values as a column, converted to the classes that the schema uses if necessary."""
    if schema.type is Type.STRUCT and not is_text(schema):
        return rows_to_column(schema, list(values))
    if schema.type.is_primitive:
        try:
            return values_to_column(schema, values)
        except DataError:
            pass
    return values_to_column(schema, [fitted(schema, value, Struct.of) for value in values])
