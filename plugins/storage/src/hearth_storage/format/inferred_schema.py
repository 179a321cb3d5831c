"""The schema of maps without one, by what they hold: an Arrow type, which grows with every map.

Such a type is int64, double, string, bool, a struct, a list, null for what is not known yet, or `TEXT` for values of
two kinds. `merged` is associative and members keep the order in which they appear, so the type of a file follows from
its rows and their order, however they are cut into batches.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from hearth_api import (
    OPTIONAL_BOOLEAN_SCHEMA,
    OPTIONAL_FLOAT64_SCHEMA,
    OPTIONAL_INT64_SCHEMA,
    OPTIONAL_STRING_SCHEMA,
    Schema,
    SchemaBuilder,
)
from hearth_api.batch import arrow_type, column_to_values, values_to_column
from hearth_api.layout import join, memory

TEXT = pa.large_string()
EMPTY = pa.struct([])
MOST_LEVELS = 32
"""Levels of structs and lists; what is deeper is text."""
_UNKNOWN = pa.null()
_NUMBERS = (pa.int64(), pa.float64())
_SCALARS = {
    pa.bool_(): OPTIONAL_BOOLEAN_SCHEMA, pa.int64(): OPTIONAL_INT64_SCHEMA, pa.float64(): OPTIONAL_FLOAT64_SCHEMA,
    pa.string(): OPTIONAL_STRING_SCHEMA, TEXT: OPTIONAL_STRING_SCHEMA,
}  # fmt: skip
_TYPES = {type(None): _UNKNOWN, bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
_LEAST, _MOST = -(2**63), 2**63 - 1


def kind_of(texts: Any) -> Any:
    """Return the type of maps, an Arrow array of JSON texts."""
    try:
        return _levelled(pa.struct(list(_read(texts, pj.ParseOptions()).schema)))
    except pa.ArrowInvalid:  # values of two kinds, or numbers and texts that Arrow refuses
        shapes = dict.fromkeys(map(_shape, _values(texts)))
        return _levelled(reduce(merged, map(_kind, shapes), EMPTY))


def merged(one: Any, other: Any) -> Any:
    """Return the type that holds the values of both."""
    if one == other or other == _UNKNOWN:
        return one
    if one == _UNKNOWN:
        return other
    if one in _NUMBERS and other in _NUMBERS:
        return pa.float64()
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(merged(one.value_type, other.value_type))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        members = {each.name: each.type for each in one}
        for each in other:
            members[each.name] = merged(members.get(each.name, _UNKNOWN), each.type)
        return pa.struct(list(members.items()))
    return TEXT


class InferredSchema:
    """The schema of a file, and how columns of it are made.

    Members that only have null, `{}` or `[]` are left out. Names have letters, digits and `_` alone, as in Avro.
    """

    def __init__(self, kind: Any) -> None:
        """Take the type of all maps of the file; a file of nothing but nulls has them as strings."""
        names = [each.name for each in kind] or ["value"]
        self._kind = _known(kind) or pa.struct([(name, TEXT) for name in names])
        self.schema: Schema = _struct(self._kind).build()

    def column(self, texts: Any) -> Any:
        """Return maps, an Arrow array of JSON texts, as a column of the schema; members of two kinds are texts."""
        plain = [each for each in self._kind if not _holds_text(each.type)]
        found = self._read_columns(texts, plain)
        rows = [] if len(found) == len(self._kind) else _values(texts)
        for each in self._kind:
            if each.name not in found:
                shaped = [_shaped(row.get(each.name), each.type) for row in rows]
                found[each.name] = pa.array(shaped, _plain(each.type))
        columns = [found[each.name] for each in self._kind]
        fields = [pa.field(each.name, _plain(each.type)) for each in self._kind]
        return pa.StructArray.from_arrays(columns, fields=fields).view(arrow_type(self.schema))

    def _read_columns(self, texts: Any, fields: list[Any]) -> dict[str, Any]:
        """Return columns that Arrow reads; none if it refuses a text."""
        options = pj.ParseOptions(explicit_schema=pa.schema(fields), unexpected_field_behavior="ignore")
        try:
            table = _read(texts, options)
        except pa.ArrowInvalid:
            return {}
        return {each.name: pa.concat_arrays(table.column(each.name).chunks) for each in fields}


def _read(texts: Any, options: Any) -> Any:
    content, _ = memory(join([texts.cast(pa.binary()), b"\n"], len(texts)))
    reading = pj.ReadOptions(use_threads=False, block_size=memoryview(content).nbytes + 1)
    return pj.read_json(pa.BufferReader(content), reading, options)


def _values(texts: Any) -> list[Any]:
    """Return maps of Python values, with a question mark for half a surrogate pair, as Java encodes it."""
    values = column_to_values(None, texts)
    if pc.any(pc.match_substring(texts, "\\ud", ignore_case=True)).as_py():
        values = json.loads(json.dumps(values, ensure_ascii=False).encode("utf-8", "replace"))
    return values


def _shape(value: Any) -> Any:
    """Return what decides the type of a value, equal for equal ones: few rows of a file differ in it."""
    if isinstance(value, Mapping):
        return (True, *[(name, _shape(each)) for name, each in value.items()])
    if isinstance(value, list):
        return (False, *dict.fromkeys(map(_shape, value)))
    if isinstance(value, int) and not isinstance(value, bool) and not _LEAST <= value <= _MOST:
        return float
    return type(value)


def _kind(shape: Any) -> Any:
    """Return the type of values of a shape, as Arrow's reader does."""
    if not isinstance(shape, tuple):
        return _TYPES[shape]
    is_map, *inner = shape
    if is_map:
        return pa.struct([(name, _kind(each)) for name, each in inner])
    return pa.list_(reduce(merged, map(_kind, inner), _UNKNOWN))


def _levelled(kind: Any, level: int = 0) -> Any:
    """Return a type without the times that Arrow sees in texts, and not too deep."""
    is_list = pa.types.is_list(kind)
    if (is_list or pa.types.is_struct(kind)) and level == MOST_LEVELS:
        return TEXT
    if is_list:
        return pa.list_(_levelled(kind.value_type, level + 1))
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _levelled(each.type, level + 1)) for each in kind])
    return pa.string() if pa.types.is_temporal(kind) else kind


def _known(kind: Any) -> Any:
    """Return a type without what is not known, None if nothing is."""
    if pa.types.is_list(kind):
        item = _known(kind.value_type)
        return None if item is None else pa.list_(item)
    if pa.types.is_struct(kind):
        members = [(each.name, known) for each in kind if (known := _known(each.type)) is not None]
        return pa.struct(members) if members else None
    return None if kind == _UNKNOWN else kind


def _holds_text(kind: Any) -> bool:
    inner = [each.type for each in kind] if pa.types.is_struct(kind) else []
    inner += [kind.value_type] if pa.types.is_list(kind) else []
    return kind == TEXT or any(map(_holds_text, inner))


def _plain(kind: Any) -> Any:
    """Return the type of a column, in which `TEXT` is a string as others are."""
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _plain(each.type)) for each in kind])
    return pa.string() if kind == TEXT else kind


def _schema(kind: Any) -> Schema:
    if pa.types.is_list(kind):
        return SchemaBuilder.array(_schema(kind.value_type)).optional().build()
    return _struct(kind).optional().build() if pa.types.is_struct(kind) else _SCALARS[kind]


def _struct(kind: Any) -> SchemaBuilder:
    builder, names = SchemaBuilder.struct(), set[str]()
    for each in kind:
        name = stem = re.sub(r"\W|^(?=\d|$)", "_", each.name, flags=re.ASCII)
        number = 1
        while name in names:
            number += 1
            name = f"{stem}_{number}"
        names.add(name)
        builder.field(name, _schema(each.type))
    return builder


def _shaped(value: Any, kind: Any) -> Any:
    """Return a value for a column of a type."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {each.name: _shaped(value.get(each.name), each.type) for each in kind}
    if pa.types.is_list(kind):
        return [_shaped(each, kind.value_type) for each in value]
    if kind == pa.float64():
        return _double(value)
    if kind == TEXT and not isinstance(value, str):
        return values_to_column(None, [value])[0].as_py()
    return value


def _double(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
