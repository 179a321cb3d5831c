"""Envelopes: groups rows with the same schema and locates their payloads.

A writer puts the same bytes before every payload of one schema. So the schema is parsed once, from its first row, and
the other rows are found by comparing these bytes. The plain form reads rows that match no envelope and ambiguous
payloads, and raises the errors.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import DataError, Schema, SchemaAndValue, needs_records
from hearth_api.batch import ColumnRun, LateErrors, PartlyFailed, arrow_type, frameless, values_to_column
from hearth_api.layout import memory
from hearth_json.column_reader import ColumnReader, Part
from hearth_json.plain_reader import PlainReader
from hearth_json.schema_reader import SchemaReader
from hearth_json.setting import JsonConverterSettings
from hearth_json.tree import read_member, tree_or_error
from hearth_json.value_reader import ValueReader

_HEAD = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*"schema"[ \t\n\r]*:[ \t\n\r]*')
_PAYLOAD = re.compile(r'[ \t\n\r]*,[ \t\n\r]*"payload"[ \t\n\r]*:[ \t\n\r]*')
_TAIL = re.compile(r"[ \t\n\r]*\}[ \t\n\r]*")
_KINDS_AT_MOST = 128
"""Maximum envelopes in one batch; rows with other envelopes are read one by one."""
_MISSES_AT_MOST = 8
"""Number of rows without an envelope after which all remaining rows are read one by one."""

PlainForm = Callable[[bytes], SchemaAndValue | DataError]


@dataclass(frozen=True)
class Envelope:
    """The bytes before and after the payloads of one schema."""

    schema: Schema | None
    head: bytes
    tail: bytes


@dataclass(frozen=True)
class Branch:
    """The position at which texts first differ, and the subtree for each byte there."""

    place: int
    ways: Mapping[int, Branch | None]


class BatchReader:
    """Reads the bytes of many records into columns, one run for each schema."""

    def __init__(
        self,
        settings: JsonConverterSettings,
        schemas: SchemaReader,
        values: ValueReader,
        fixed: Schema | None,
        plain_form: PlainForm,
    ) -> None:
        """Use the plain form for single rows; it also parses envelopes."""
        self._schemas = schemas
        self._plain_form = plain_form
        self._columns = ColumnReader(settings, values)
        self._plain = PlainReader()
        self._size = max(settings.schemas_cache_size, 1)
        self._known: OrderedDict[bytes, Envelope] = OrderedDict()
        self._branch: Branch | None = None
        """The tree of positions at which the known envelopes differ."""
        self._bare: Envelope | None = None
        if not settings.schemas_enable or fixed is not None:
            self._bare = Envelope(fixed if settings.schemas_enable else None, b"", b"")

    def runs(self, data: Any) -> list[ColumnRun] | PartlyFailed:
        """Return the values of a binary column as runs of one schema, and the errors of failed rows."""
        if len(data) == 0:
            return []
        data = data.cast(pa.binary())
        parts = _Parts(len(data))
        parts.add(None, _null_part(data))
        for envelope, rows, mine in self._envelopes(data, parts):
            self._read(envelope, mine, rows, parts)
        rows = np.flatnonzero(parts.left)
        if not len(rows):
            return parts.runs()
        errors = LateErrors()
        is_broken = parts.broken[rows]
        errors.add(rows[is_broken], lambda row: _error_of(data[row].as_py()))
        rows = rows[~is_broken]
        for row, message in zip(rows.tolist(), data.take(pa.array(rows)).to_pylist()):
            try:
                found = self._plain_form(message)
            except DataError as error:
                found = frameless(error)
            if isinstance(found, Exception):
                errors[row] = found
            else:
                parts.add_value(found.schema, row, found.value)
        if not errors:
            return parts.runs()
        parts.add_failed(list(errors))
        return PartlyFailed(parts.runs(), errors)

    def _envelopes(self, data: Any, parts: _Parts) -> Iterator[tuple[Envelope, Any, Any]]:
        """Yield each envelope with the row numbers that match it, and these rows."""
        rows = np.flatnonzero(parts.left)
        data = data if len(rows) == len(data) else data.take(pa.array(rows))
        if self._bare is not None and len(rows):
            yield self._bare, rows, data
            return
        groups, found, misses = [(rows, data)] if len(rows) else [], 0, 0
        is_divided = False
        while groups and found < _KINDS_AT_MOST and misses <= _MISSES_AT_MOST:
            rows, data = groups.pop()
            envelope = self._envelope(data[0].as_py())
            if envelope is None:
                broken = self._plain.broken(data)
                parts.broken[rows[broken]] = True
                misses += not broken[0]
                broken[0] = True
                groups += [] if broken.all() else [(rows[~broken], data.filter(pa.array(~broken)))]
                continue
            alike = pc.and_(pc.starts_with(data, envelope.head), pc.ends_with(data, envelope.tail))
            if alike.true_count == len(rows):
                found += 1
                yield envelope, rows, data
            elif not is_divided:
                is_divided = True
                groups += self._divided(rows, data)
            else:
                found += 1
                mine = alike.to_numpy(zero_copy_only=False)
                yield envelope, rows[mine], data.filter(alike)
                groups.append((rows[~mine], data.filter(pc.invert(alike))))

    def _divided(self, rows: Any, data: Any) -> list[tuple[Any, Any]]:
        """Group rows by known envelope, with a group for the others; the largest group comes last."""
        if self._branch is None:
            self._branch = branch([*self._known][-_KINDS_AT_MOST:])
        groups = sorted(_distinguished(self._branch, data), key=len)
        data, ends = data.take(pa.array(np.concatenate(groups))), np.cumsum([len(group) for group in groups])
        return [(rows[group], data.slice(end - len(group), len(group))) for group, end in zip(groups, ends.tolist())]

    def _envelope(self, message: bytes) -> Envelope | None:
        """Return the envelope of a message, None if only the plain form can parse it."""
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
            self._branch = None
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
        """Read the rows of one envelope, given with their row numbers in the batch."""
        if needs_records(envelope.schema):
            return  # left to the plain form
        payloads = data
        if envelope.head:
            payloads = pc.binary_slice(data, len(envelope.head), -len(envelope.tail))
        if envelope.schema is None:
            parts, broken = self._plain.parts(payloads)
            found.broken[rows[broken]] = True
        else:
            parts = self._columns.parts(envelope.schema, payloads)
        for numbers, column in parts:
            found.add(envelope.schema, (rows[numbers], column))


def _error_of(message: bytes) -> DataError:
    """Return the error for a message that is not JSON."""
    found = tree_or_error(message)
    assert isinstance(found, DataError), f"{message!r} is JSON"
    return found


class _Parts:
    """Collects columns for arbitrary rows of a batch, by schema."""

    def __init__(self, length: int) -> None:
        self.left, self.broken = np.ones(length, bool), np.zeros(length, bool)
        self._parts: dict[Schema | None, list[Part]] = {}
        self._values: dict[Schema | None, tuple[list[int], list[Any]]] = {}

    def add(self, schema: Schema | None, part: Part) -> None:
        """Add the column of some rows."""
        rows, _ = part
        if len(rows):
            self._parts.setdefault(schema, []).append(part)
            self.left[rows] = False

    def add_value(self, schema: Schema | None, row: int, value: Any) -> None:
        """Add the value of one row."""
        rows, values = self._values.setdefault(schema, ([], []))
        rows.append(row)
        values.append(value)

    def add_failed(self, rows: list[int]) -> None:
        """Add nulls for failed rows to the run of an existing schema."""
        schema = next(iter({**self._parts, **self._values}), None)
        self.add(schema, (np.array(rows), pa.nulls(len(rows), arrow_type(schema))))

    def runs(self) -> list[ColumnRun]:
        """Return the values of each schema as a run."""
        for schema, (rows, values) in self._values.items():
            self.add(schema, (np.array(rows), values_to_column(schema, values)))
        return [self._run(schema, parts) for schema, parts in self._parts.items()]

    def _run(self, schema: Schema | None, parts: list[Part]) -> ColumnRun:
        rows, column = parts[0]
        if len(parts) > 1:
            rows = np.concatenate([own for own, _ in parts])
            order = np.argsort(rows, kind="stable")
            rows, column = rows[order], pa.concat_arrays([own for _, own in parts]).take(pa.array(order))
        if len(rows) < len(self.left):
            return ColumnRun(schema, column, rows=rows)
        return ColumnRun(schema, column)


def branch(heads: Sequence[bytes]) -> Branch | None:
    """Return the branch at which texts with these prefixes first differ; None for a single prefix."""
    if len(heads) < 2:
        return None
    first, last = min(heads), max(heads)
    place = next((place for place, pair in enumerate(zip(first, last)) if pair[0] != pair[1]), len(first))
    ways: dict[int, list[bytes]] = {}
    for head in heads:
        ways.setdefault(head[place] if place < len(head) else -1, []).append(head)
    return Branch(place, {byte: branch(own) for byte, own in ways.items()})


def _distinguished(start: Branch | None, data: Any) -> Iterator[Any]:
    """Yield the indexes of rows that take the same path through the branches, and of those that match none."""
    content, offsets = memory(data)
    begins, last = offsets[:-1], len(content) - 1
    todo = [(start, np.arange(len(data)))]
    while todo:
        at, places = todo.pop()
        if at is None:
            yield places
            continue
        found = content[np.minimum(begins[places] + at.place, last)]
        for byte, way in at.ways.items():
            taken = found == byte
            if taken.any():
                todo.append((way, places[taken]))
                places, found = places[~taken], found[~taken]
        if len(places):
            yield places


def _null_part(data: Any) -> Part:
    if data.null_count == 0:
        return np.empty(0, np.int64), pa.nulls(0, arrow_type(None))
    rows = np.flatnonzero(data.is_null().to_numpy(zero_copy_only=False))
    return rows, pa.nulls(len(rows), arrow_type(None))
