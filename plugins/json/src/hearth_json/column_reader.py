"""Reads payloads of one schema into a column: by layouts where they fit, otherwise strictly one by one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Schema, Type
from hearth_api.batch import arrow_type, values_to_column
from hearth_api.layout import Fitting, Known, Payloads, cut, memory, nulled, rows_of
from hearth_json.layout import Layout, learn
from hearth_json.leaf import leaf_column, unescape
from hearth_json.setting import JsonConverterSettings
from hearth_json.strict_reader import StrictReader
from hearth_json.value_reader import ValueReader

Part = tuple[Any, Any]
"""Ascending row numbers, and the column of their values."""


_FEWEST = 1500
"""Fewer payloads of one schema are read strictly, which is quicker, since a layout has a fixed cost for each field."""


class ColumnReader:
    """Reads payloads into columns; leaves ambiguous rows to the plain form."""

    def __init__(self, settings: JsonConverterSettings, values: ValueReader) -> None:
        """Use the plain form's reader for rare cases."""
        self._replaces = settings.replace_null_with_default
        self._values = values
        self._size = max(settings.schemas_cache_size, 1)
        self._known: OrderedDict[Schema, Known[Layout]] = OrderedDict()
        self._strict = StrictReader(settings.replace_null_with_default, settings.schemas_cache_size)

    def parts(self, schema: Schema, payloads: Any) -> list[Part]:
        """Return the payloads, a binary column without nulls, as columns; ambiguous rows are in none of them."""
        left = np.ones(len(payloads), bool)
        parts: list[Part] = []
        if len(payloads) >= _FEWEST:
            for rows, column in self._by_template(schema, payloads, left):
                parts.append((rows, column))
                left[rows] = False
        rows = np.flatnonzero(left)
        if len(rows):
            parts.append(self._strictly(schema, payloads, rows))
        return [part for part in parts if len(part[0])]

    def _by_template(self, schema: Schema, column: Any, left: Any) -> Iterator[Part]:
        content, offsets = memory(column)
        if len(content) == 0:
            return
        payloads = Payloads(content, offsets)
        clean = clean_rows(column, content, offsets)
        known = self._known.setdefault(schema, Known())
        self._known.move_to_end(schema)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
        for layout in known.tried(left, lambda: self._learned(schema, column, left), _FEWEST):
            part = payloads.part(np.flatnonzero(left if clean is None else left & clean))
            found = cut(layout.template, part)
            yield self._columns(schema, layout, Fitting(part, found, found.fits))

    def _learned(self, schema: Schema, column: Any, left: Any) -> Layout | None:
        """Learn the layout of a remaining row, if it determines the value of every field."""
        new = learn(schema, column[int(np.argmax(left))].as_py())
        return new if new is not None and self._is_complete(schema, new, "") else None

    def _is_complete(self, schema: Schema, layout: Layout, path: str) -> bool:
        """Return whether every field that a layout lacks is optional or has a default."""
        if schema.type is Type.STRUCT and path in layout.structs:
            return all(self._is_complete(field.schema, layout, f"{path}.{field.index}") for field in schema.fields)
        is_there = any(slot.path == path for slot in layout.slots)
        return is_there or schema.optional or (schema.default is not None and self._replaces)

    def _columns(self, schema: Schema, layout: Layout, found: Fitting) -> Part:
        leaves: dict[str, Any] = {}
        sure = np.ones(len(found), bool)
        for place, slot in enumerate(layout.slots):
            leaf, is_sure = self._leaf(slot.schema, layout.template.are_quoted[place], found, place)
            leaf, has_value = self._without_null(slot.schema, leaf)
            leaves[slot.path] = leaf
            for mask in (is_sure, has_value):
                sure = sure if mask is None else sure & mask
        rows = found.rows
        if not sure.all():
            leaves = {path: leaf.filter(pa.array(sure)) for path, leaf in leaves.items()}
            rows = rows[sure]
        return rows, self._build(schema, layout, leaves, "", len(rows))

    def _leaf(self, schema: Schema, is_quoted: bool | None, found: Fitting, place: int) -> tuple[Any, Any]:
        texts, sure = found.texts(place), None
        if is_quoted and (opens := found.opens(place)) is not True:
            texts = nulled(texts, ~np.broadcast_to(opens, len(found)))
        if is_quoted and len(escaped := found.escaped(place)):
            texts, sure = unescape(texts, escaped)
        leaf, is_exact = leaf_column(self._values, schema, texts, bool(is_quoted))
        if sure is None or is_exact is None:
            return leaf, is_exact if sure is None else sure
        return leaf, sure & is_exact

    def _without_null(self, schema: Schema, leaf: Any) -> tuple[Any, Any]:
        """Replace nulls by the default; the plain form raises the error for a null that is not allowed."""
        if leaf.null_count == 0:
            return leaf, None
        if schema.default is not None and self._replaces:
            return pc.fill_null(leaf, values_to_column(schema, [schema.default])[0]), None
        return leaf, None if schema.optional else leaf.is_valid().to_numpy(zero_copy_only=False)

    def _build(self, schema: Schema, layout: Layout, leaves: dict[str, Any], path: str, length: int) -> Any:
        if path in leaves:
            return leaves[path]
        if path not in layout.structs:
            default = schema.default if self._replaces else None
            return values_to_column(schema, [default]).take(pa.array(np.zeros(length, np.int64)))
        if not schema.fields:
            return pa.array([{}] * length, arrow_type(schema))
        children = [
            self._build(field.schema, layout, leaves, f"{path}.{field.index}", length) for field in schema.fields
        ]
        return pa.StructArray.from_arrays(children, fields=list(arrow_type(schema)))

    def _strictly(self, schema: Schema, payloads: Any, rows: Any) -> Part:
        """Read rows field by field, or one by one if any of them is ambiguous."""
        texts = (payloads if len(rows) == len(payloads) else payloads.take(pa.array(rows))).to_pylist()
        try:
            return rows, self._strict.column(schema, texts)
        except (ValueError, RecursionError, pa.ArrowException):
            return self._one_by_one(schema, texts, rows)

    def _one_by_one(self, schema: Schema, payloads: list[bytes], rows: Any) -> Part:
        read: list[int] = []
        values: list[Any] = []
        for row, payload in zip(rows.tolist(), payloads):
            try:
                values.append(self._strict.physical(schema, payload))
                read.append(row)
            except (ValueError, RecursionError):
                continue  # left to the plain form
        return np.array(read, np.int64), pa.array(values, arrow_type(schema))


def clean_rows(column: Any, content: Any, offsets: Any) -> Any:
    """Return which rows are UTF-8 without control characters; None if all are."""
    clean = None
    if len(content) and content.min() < 0x20:
        clean = np.ones(len(column), bool)
        clean[rows_of(np.flatnonzero(content < 0x20), offsets)] = False
    try:
        if len(content) and content.max() >= 0x80:
            column.cast(pa.string())
    except pa.ArrowInvalid:
        clean = np.ones(len(column), bool) if clean is None else clean
        clean &= [_is_utf8(payload) for payload in column.to_pylist()]
    return clean


def _is_utf8(payload: bytes) -> bool:
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
