"""Payloads of one schema to a column: by templates as far as they fit, then one by one but strictly."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import Schema, Type
from hearth_api.batch import arrow_type, values_to_column
from hearth_json.layout import learn
from hearth_json.leaf import leaf_column, unescape
from hearth_json.setting import JsonConverterSettings
from hearth_json.strict_reader import StrictReader
from hearth_json.template import Cut, Payloads, Slot, Template, cut
from hearth_json.text_column import memory, rows_of
from hearth_json.value_reader import ValueReader

Part = tuple[Any, Any]
"""The numbers of some rows, ascending, and the column of their values."""

_TEMPLATES_AT_MOST = 4
# Fewer rows than this are not worth a template.
_FEW = 16


class ColumnReader:
    """Reads payloads into columns; rows it is not sure of it leaves to the plain form."""

    def __init__(self, settings: JsonConverterSettings, values: ValueReader) -> None:
        """Read what is rare with the reader of the plain form."""
        self._replaces = settings.replace_null_with_default
        self._values = values
        self._size = max(settings.schemas_cache_size, 1)
        self._templates: OrderedDict[Schema, list[Template]] = OrderedDict()
        self._strict = StrictReader(settings.replace_null_with_default, settings.schemas_cache_size)

    def parts(self, schema: Schema, payloads: Any) -> list[Part]:
        """Return the payloads, a binary column without nulls, as columns; some rows may be in none of them."""
        left = np.ones(len(payloads), bool)
        parts: list[Part] = []
        if len(payloads) >= _FEW:
            for rows, column in self._by_template(schema, payloads, left):
                parts.append((rows, column))
                left[rows] = False
        rows = np.flatnonzero(left)
        if len(rows):
            parts.append(self._one_by_one(schema, payloads, rows))
        return [part for part in parts if len(part[0])]

    def _by_template(self, schema: Schema, column: Any, left: Any) -> Iterator[Part]:
        content, offsets = memory(column)
        if len(content) == 0:
            return
        payloads = Payloads(content, offsets)
        clean = _clean_rows(column, content, offsets)
        for template in self._known_and_new(schema, column, left):
            found = cut(template, payloads)
            wanted = found.fits & left
            yield self._columns(schema, template, payloads, found, wanted if clean is None else wanted & clean)

    def _known_and_new(self, schema: Schema, column: Any, left: Any) -> Iterator[Template]:
        """Return the templates known for a schema, and learn new ones from rows that none of them fits."""
        known = self._templates.setdefault(schema, [])
        self._templates.move_to_end(schema)
        if len(self._templates) > self._size:
            self._templates.popitem(last=False)
        for template in list(known):
            yield template
            if not left.any():
                return
        for _ in range(_TEMPLATES_AT_MOST):
            if np.count_nonzero(left) < max(_FEW, len(left) // 8):
                return
            new = learn(schema, column[int(np.argmax(left))].as_py())
            if new is None or new in known or not self._is_complete(schema, new, ""):
                return
            known.append(new)
            del known[:-_TEMPLATES_AT_MOST]
            yield new

    def _is_complete(self, schema: Schema, template: Template, path: str) -> bool:
        """Tell whether every field that a template lacks may be null or has a default that takes its place."""
        if schema.type is Type.STRUCT and path in template.structs:
            return all(self._is_complete(field.schema, template, f"{path}.{field.index}") for field in schema.fields)
        is_there = any(slot.path == path for slot in template.slots)
        return is_there or schema.optional or (schema.default is not None and self._replaces)

    def _columns(self, schema: Schema, template: Template, payloads: Payloads, found: Cut, wanted: Any) -> Part:
        rows = np.flatnonzero(wanted)
        leaves: dict[str, Any] = {}
        sure = np.ones(len(rows), bool)
        for number, slot in enumerate(template.slots):
            leaf, is_sure = self._leaf(slot, payloads, found, number, rows)
            leaf, has_value = self._without_null(slot.schema, leaf)
            leaves[slot.path] = leaf
            for mask in (is_sure, has_value):
                sure = sure if mask is None else sure & mask
        if not sure.all():
            leaves = {path: leaf.filter(pa.array(sure)) for path, leaf in leaves.items()}
            rows = rows[sure]
        return rows, self._build(schema, template, leaves, "", len(rows))

    def _leaf(self, slot: Slot, payloads: Payloads, found: Cut, number: int, rows: Any) -> tuple[Any, Any]:
        starts, ends = found.spans[number]
        nulls = found.nulls[number]
        if len(rows) < len(payloads):
            starts, ends = starts[rows], ends[rows]
            nulls = None if nulls is None else nulls[rows]
        texts = _pick(payloads.content, starts, ends, nulls)
        sure = None
        if slot.is_quoted and len(payloads.backslashes):
            # Of the values between a row's first and last backslash some may have none, which does no harm.
            low = np.searchsorted(payloads.backslashes, starts)
            escaped = np.flatnonzero(np.searchsorted(payloads.backslashes, ends) > low)
            texts, sure = unescape(texts, escaped) if len(escaped) else (texts, None)
        leaf, is_exact = leaf_column(self._values, slot.schema, texts, slot.is_quoted)
        if sure is None or is_exact is None:
            return leaf, is_exact if sure is None else sure
        return leaf, sure & is_exact

    def _without_null(self, schema: Schema, leaf: Any) -> tuple[Any, Any]:
        """Put the default in the place of nulls; where a null may not be, the plain form has to say so."""
        if leaf.null_count == 0:
            return leaf, None
        if schema.default is not None and self._replaces:
            return pc.fill_null(leaf, values_to_column(schema, [schema.default])[0]), None
        return leaf, None if schema.optional else leaf.is_valid().to_numpy(zero_copy_only=False)

    def _build(self, schema: Schema, template: Template, leaves: dict[str, Any], path: str, length: int) -> Any:
        if path in leaves:
            return leaves[path]
        if path not in template.structs:
            default = schema.default if self._replaces else None
            return values_to_column(schema, [default]).take(pa.array(np.zeros(length, np.int64)))
        if not schema.fields:
            return pa.array([{}] * length, arrow_type(schema))
        children = [
            self._build(field.schema, template, leaves, f"{path}.{field.index}", length) for field in schema.fields
        ]
        return pa.StructArray.from_arrays(children, fields=list(arrow_type(schema)))

    def _one_by_one(self, schema: Schema, payloads: Any, rows: Any) -> Part:
        read: list[int] = []
        values: list[Any] = []
        for row, payload in zip(rows.tolist(), payloads.take(pa.array(rows)).to_pylist()):
            try:
                values.append(self._strict.physical(schema, payload))
                read.append(row)
            except (ValueError, RecursionError):
                continue  # for the plain form
        return np.array(read, np.int64), pa.array(values, arrow_type(schema))


def _pick(content: Any, starts: Any, ends: Any, nulls: Any) -> Any:
    """Copy pieces of the content into a binary column, without a loop per piece.

    The content becomes a column in which every second element is a piece and the others what lies between.
    """
    count = len(starts)
    offsets = np.empty(2 * count + 1, np.int32)
    offsets[0:-1:2] = starts
    offsets[1::2] = ends
    offsets[-1] = len(content)
    whole = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(content)])
    return whole.take(_every_second(count) if nulls is None else pa.array(2 * np.arange(count), mask=nulls))


@lru_cache(maxsize=16)
def _every_second(count: int) -> Any:
    return pa.array(np.arange(0, 2 * count, 2, dtype=np.int32))


def _clean_rows(column: Any, content: Any, offsets: Any) -> Any:
    """Tell which rows are UTF-8 without control characters; None when all are."""
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
