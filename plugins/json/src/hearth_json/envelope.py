"""Envelopes: which rows carry the same schema, and where their payloads are.

A writer puts the same bytes before every payload of one schema. So the schema is read once, from the first row that
has it, and the other rows are found by comparing these bytes. Rows for which this does not work out, or whose payload
no fast step is sure of, are read by the plain form, which also raises the errors.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, SchemaAndValue
from hearth_api.batch import ColumnRun, PartlyFailed, arrow_type, values_to_column
from hearth_api.layout import Alike, Grouped
from hearth_json.column_reader import ColumnReader, Part
from hearth_json.plain_reader import PlainReader
from hearth_json.schema_reader import SchemaReader
from hearth_json.setting import JsonConverterSettings
from hearth_json.tree import read_member
from hearth_json.value_reader import ValueReader

_HEAD = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"schema"[ \t\n\r]*:[ \t\n\r]*')
_PAYLOAD = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"payload"[ \t\n\r]*:[ \t\n\r]*')
_TAIL = re.compile(r"[ \t\n\r]*\}[ \t\n\r]*")
_KINDS_AT_MOST = 8
"""So many different envelopes are looked for in one batch; rows of any others are read one by one."""

PlainForm = Callable[[bytes], SchemaAndValue]


@dataclass(frozen=True)
class Envelope:
    """What stands before and after the payloads of one schema."""

    schema: Schema | None
    head: bytes
    tail: bytes


class BatchReader:
    """Reads the bytes of many records into columns, split where the schema changes."""

    def __init__(
        self,
        settings: JsonConverterSettings,
        schemas: SchemaReader,
        values: ValueReader,
        fixed: Schema | None,
        plain_form: PlainForm,
    ) -> None:
        """Read single rows with the plain form, which also knows what to do about envelopes."""
        self._schemas = schemas
        self._plain_form = plain_form
        self._columns = ColumnReader(settings, values)
        self._plain = PlainReader()
        self._size = max(settings.schemas_cache_size, 1)
        self._known: OrderedDict[bytes, Envelope] = OrderedDict()
        self._bare: Envelope | None = None
        if not settings.schemas_enable or fixed is not None:
            self._bare = Envelope(fixed if settings.schemas_enable else None, b"", b"")

    def runs(self, data: Any) -> list[ColumnRun] | PartlyFailed:
        """Return the values of a binary column as runs of one schema, and what is wrong with some rows."""
        if len(data) == 0:
            return []
        data = data.cast(pa.binary())
        parts = _Parts(len(data))
        parts.add(None, _null_part(data))
        for envelope, rows in self._envelopes(data, parts.left):
            self._read(envelope, data, rows, parts)
        rows = np.flatnonzero(parts.left)
        if not len(rows):
            return parts.runs()
        errors: dict[int, Exception] = {}
        for row, message in zip(rows.tolist(), data.take(pa.array(rows)).to_pylist()):
            try:
                schema, value = self._plain_form(message)
                parts.add_value(schema, row, value)
            except DataError as error:
                errors[row] = error
        if not errors:
            return parts.runs()
        parts.add_failed(list(errors))
        return PartlyFailed(parts.runs(), errors)

    def _envelopes(self, data: Any, left: Any) -> Iterator[tuple[Envelope, Any]]:
        """Return each envelope with the numbers of the rows that start and end like it."""
        if self._bare is not None:
            yield self._bare, np.flatnonzero(left)
            return
        left = left.copy()
        for _ in range(_KINDS_AT_MOST):
            if not left.any():
                return
            first = int(np.argmax(left))
            envelope = self._envelope(data[first].as_py())
            if envelope is None:
                left[first] = False
                continue
            starts = pc.starts_with(data, pattern=envelope.head)
            ends = pc.ends_with(data, pattern=envelope.tail)
            if starts.true_count == ends.true_count == len(data):
                yield envelope, np.flatnonzero(left)
                return
            mine = pc.fill_null(pc.and_(starts, ends), False).to_numpy(zero_copy_only=False) & left
            left &= ~mine
            yield envelope, np.flatnonzero(mine)

    def _envelope(self, message: bytes) -> Envelope | None:
        """Return what stands around the payload of a message, None when only the plain form can tell."""
        for envelope in reversed(self._known.values()):
            if message.startswith(envelope.head) and message.endswith(envelope.tail):
                self._known.move_to_end(envelope.head)
                return envelope
        try:
            new = self._read_envelope(message.decode())
        except (ValueError, RecursionError, DataError):
            return None
        if new is not None:
            self._known[new.head] = new
            if len(self._known) > self._size:
                self._known.popitem(last=False)
        return new

    def _read_envelope(self, text: str) -> Envelope | None:
        head = _HEAD.match(text)
        if head is None:
            return None
        tree, end = read_member(text, head.end())
        payload = _PAYLOAD.match(text, end)
        if payload is None:
            return None
        _, end = read_member(text, payload.end())
        if _TAIL.fullmatch(text, end) is None:
            return None
        return Envelope(self._schemas.schema(tree), text[: payload.end()].encode(), text[end:].encode())

    def _read(self, envelope: Envelope, data: Any, rows: Any, found: _Parts) -> None:
        """Read the rows of one envelope, given by the numbers they have in the batch."""
        mine = data if len(rows) == len(data) else data.take(pa.array(rows))
        payloads = mine
        if envelope.head:
            payloads = pc.binary_slice(mine, len(envelope.head), -len(envelope.tail))
        if envelope.schema is None:
            parts, groups = self._plain.parts(payloads)
            found.groups += [Alike(rows[group.rows], group.value) for group in groups]
        else:
            parts = self._columns.parts(envelope.schema, payloads)
        for numbers, column in parts:
            found.add(envelope.schema, (rows[numbers], column))


class _Parts:
    """Columns of rows here and there in a batch, to be put in order."""

    def __init__(self, length: int) -> None:
        self.left = np.ones(length, bool)
        self.groups: list[Alike] = []
        """Rows without schema of which it is known what they hold."""
        self._schemas: dict[Schema | None, int] = {}
        self._kind = np.zeros(length, np.int64)
        self._parts: list[list[Part]] = []
        self._values: list[tuple[list[int], list[Any]]] = []

    def add(self, schema: Schema | None, part: Part) -> None:
        """Take the column of some rows."""
        rows, _ = part
        if len(rows):
            kind = self._kind_of(schema)
            self._kind[rows] = kind
            self._parts[kind].append(part)
            self.left[rows] = False

    def add_value(self, schema: Schema | None, row: int, value: Any) -> None:
        """Take the value of one row."""
        kind = self._kind_of(schema)
        self._kind[row] = kind
        rows, values = self._values[kind]
        rows.append(row)
        values.append(value)

    def add_failed(self, rows: list[int]) -> None:
        """Take nulls for rows that failed, each with the schema of the row before it, so that no run ends there."""
        is_failed = np.zeros(len(self._kind), bool)
        is_failed[rows] = True
        if not self._schemas:
            self._kind_of(None)
        before = np.maximum.accumulate(np.where(is_failed, -1, np.arange(len(is_failed))))
        kinds = self._kind[before[rows].clip(min=int(np.argmin(is_failed)))]
        for schema, kind in list(self._schemas.items()):
            own = np.array(rows)[kinds == kind]
            self.add(schema, (own, pa.nulls(len(own), arrow_type(schema))))

    def runs(self) -> list[ColumnRun]:
        """Return all rows in order, as one run for every change of schema."""
        columns = [self._column(schema, kind) for schema, kind in self._schemas.items()]
        schemas = list(self._schemas)
        if len(columns) == 1:
            return [ColumnRun(schemas[0], columns[0], Grouped(columns[0], self.groups) if self.groups else None)]
        runs: list[ColumnRun] = []
        used = [0] * len(columns)
        bounds = [0, *(np.flatnonzero(np.diff(self._kind)) + 1).tolist(), len(self._kind)]
        for start, end in zip(bounds, bounds[1:]):
            kind = int(self._kind[start])
            runs.append(ColumnRun(schemas[kind], columns[kind].slice(used[kind], end - start)))
            used[kind] += end - start
        return runs

    def _kind_of(self, schema: Schema | None) -> int:
        kind = self._schemas.setdefault(schema, len(self._schemas))
        if kind == len(self._parts):
            self._parts.append([])
            self._values.append(([], []))
        return kind

    def _column(self, schema: Schema | None, kind: int) -> Any:
        parts = self._parts[kind]
        rows, values = self._values[kind]
        if values:
            parts = [*parts, (np.array(rows, np.int64), values_to_column(schema, values))]
        if len(parts) == 1:
            return parts[0][1]
        order = np.argsort(np.concatenate([numbers for numbers, _ in parts]), kind="stable")
        return pa.concat_arrays([column for _, column in parts]).take(pa.array(order))


def _null_part(data: Any) -> Part:
    if data.null_count == 0:
        return np.empty(0, np.int64), pa.nulls(0, arrow_type(None))
    rows = np.flatnonzero(data.is_null().to_numpy(zero_copy_only=False))
    return rows, pa.nulls(len(rows), arrow_type(None))
