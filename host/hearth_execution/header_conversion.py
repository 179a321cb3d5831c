"""Runs the header converter on the headers of a batch: those of one name and schema at once.

Uses the converter's column form if it has one; otherwise, or if that form declines, converts each distinct value once.
A row with a failing header gets no headers and an entry among the failures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from hearth_api import Header, HeaderConverter, Headers, Schema, Type, is_logical
from hearth_api.batch import (
    Batch,
    BatchHeaderConverter,
    ColumnRun,
    Declined,
    HeaderColumns,
    arrow_type,
    column_to_values,
    header_lists,
    header_text,
    header_texts,
    header_values,
    repeats,
    schema_texts,
)
from hearth_api.batch import arrow as pa
from hearth_api.java import schema_from_text, schema_to_text
from hearth_execution.failure import Failure
from hearth_execution.order import rows_of
from hearth_execution.plugins import Plugins, joined
from hearth_execution.raw_header import common_length, list_lengths, raw_lists

_ROLE = "header.converter"
_FEW = 16
"""Headers per row that are compared position by position; with more, names probably repeat."""
_AT_ONCE = (Type.STRING, Type.INT8, Type.INT16, Type.INT32, Type.INT64)


class HeaderConversion:
    """Writes and reads headers with the converter among loaded plugins."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins
        self._converter: HeaderConverter = plugins[_ROLE]

    @property
    def reads_any_bytes(self) -> bool:
        """Return whether the converter can read all headers without failing."""
        return isinstance(self._converter, BatchHeaderConverter) and self._converter.reads_any_bytes

    def write(self, topic: str, batch: Batch) -> tuple[Any, list[Failure]]:
        """Return the headers of a batch as a raw column (see ``raw_header``)."""
        column = batch.column("headers")
        lists = _Lists(column)
        keys, schemas, values = (lists.entries.field(name) for name in ("key", "schema", "value"))
        together = self._together(values, keys, schemas)
        cells = NotImplemented if together is None else self._written_at_once(topic, together)
        if cells is NotImplemented:
            parts = [self._written(topic, alike, lists.failed) for alike in _alike(lists.width, values, keys, schemas)]
            cells = lists.in_order(parts, pa.binary())
        written = lists.rebuilt([keys, cells], raw_lists)
        return written, self._failures(lists, rows_of(batch)) if lists.failed_rows else []

    def read(self, topic: str, raw: Any) -> tuple[Any, list[Failure]]:
        """Return raw headers as a batch's headers column; failures carry the row numbers of the column.

        A header whose value does not match its schema also fails, because no column can hold it.
        """
        lists = _Lists(raw)
        keys, values = (lists.entries.field(name) for name in ("key", "value"))
        columns = self._read_together(topic, values, keys)
        if columns is NotImplemented:
            parts = [self._read(topic, alike, lists.failed) for alike in _alike(lists.width, values, keys)]
            columns = [lists.in_order([(part[0], part[index]) for part in parts], pa.string()) for index in (1, 2)]
        return lists.rebuilt([keys, *columns], header_lists), self._failures(lists, range(len(raw)))

    def _together(self, values: Any, keys: Any, schemas: Any = None) -> _UniformHeaders | None:
        """Return all headers as headers of one name, if they have one schema and the converter ignores names."""
        is_blind = isinstance(self._converter, BatchHeaderConverter) and self._converter.is_blind_to_names
        if not is_blind or len(values) == 0 or (schemas is not None and not repeats(schemas, 1)):
            return None
        return _UniformHeaders(
            keys[0].as_py(), None if schemas is None else schemas[0].as_py(), range(len(values)), values
        )

    def _read_together(self, topic: str, values: Any, keys: Any) -> Any:
        """Read headers of any name at once if the first few show that this works: a failed attempt is expensive."""
        together = self._together(values, keys)
        if together is None:
            return NotImplemented
        if len(values) > _FEW:
            few = replace(together, values=values.slice(0, _FEW))
            if self._converted_at_once(topic, few) is NotImplemented:
                return NotImplemented
        return self._read_at_once(topic, together)

    def _written(self, topic: str, alike: _UniformHeaders, failed: dict[int, Exception]) -> tuple[Any, Any]:
        if (cells := self._written_at_once(topic, alike)) is not NotImplemented:
            return alike.places, cells
        schema = _schema_of(alike)
        found: list[bytes | None] = []
        encoded = alike.values.dictionary_encode("encode")
        for code, value in enumerate(header_values(schema, encoded.dictionary)):
            try:
                found.append(self._write(topic, alike.key, schema, value))
            except Exception as error:
                found.append(None)
                failed.update(alike.failed(encoded, code, error))
        return alike.places, pa.array(found, pa.binary()).take(encoded.indices)

    def _written_at_once(self, topic: str, alike: _UniformHeaders) -> Any:
        converter, schema = self._converter, _schema_of(alike)
        is_plain = schema is not None and schema.type in _AT_ONCE and not is_logical(schema)
        if not is_plain or not isinstance(converter, BatchHeaderConverter):
            return NotImplemented
        try:
            cells = converter.from_connect_headers(topic, alike.key, schema, alike.values.cast(arrow_type(schema)))
        except Exception:
            return NotImplemented  # the single-header form reports what is wrong, and for which header
        return cells if cells is NotImplemented or alike.is_whole(cells, pa.binary()) else NotImplemented

    def _write(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        return self._plugins.retry.run(lambda: self._converter.from_connect_header(topic, key, schema, value))

    def _read(self, topic: str, alike: _UniformHeaders, failed: dict[int, Exception]) -> tuple[Any, Any, Any]:
        if (columns := self._read_at_once(topic, alike)) is not NotImplemented:
            return alike.places, *columns
        found: list[tuple[str | None, str | None]] = []
        encoded = alike.values.dictionary_encode("encode")
        for code, data in enumerate(encoded.dictionary.to_pylist()):
            try:
                found.append(self._read_one(topic, alike.key, data))
            except Exception as error:
                found.append((None, None))
                failed.update(alike.failed(encoded, code, error))
        schemas, texts = (pa.array([pair[index] for pair in found], pa.string()) for index in (0, 1))
        return alike.places, schemas.take(encoded.indices), texts.take(encoded.indices)

    def _read_at_once(self, topic: str, alike: _UniformHeaders) -> Any:
        return _columns(self._converted_at_once(topic, alike))

    def _converted_at_once(self, topic: str, alike: _UniformHeaders) -> ColumnRun | HeaderColumns | Declined:
        """Return the result of the column form for some headers, NotImplemented if it has none or fails."""
        converter = self._converter
        if not isinstance(converter, BatchHeaderConverter):
            return NotImplemented
        try:
            found = converter.to_connect_headers(topic, alike.key, alike.values)
        except Exception:
            return NotImplemented
        if isinstance(found, HeaderColumns):
            return found if alike.is_each(found) else NotImplemented
        if found is NotImplemented or not alike.is_whole(found.column, arrow_type(found.schema)):
            return NotImplemented
        lacks = found.schema is not None and not found.schema.optional and found.column.null_count
        return NotImplemented if lacks else found

    def _read_one(self, topic: str, key: str, data: bytes | None) -> tuple[str | None, str | None]:
        found = self._plugins.retry.run(lambda: self._converter.to_connect_header(topic, key, data))
        (header,) = Headers().add(Header(key, found.schema, found.value))
        schema = header.schema
        return None if schema is None else schema_to_text(schema), header_text(schema, header.value)

    def _failures(self, lists: _Lists, numbers: Any) -> list[Failure]:
        name = self._plugins.class_name(_ROLE)
        return [
            Failure.of(int(numbers[row]), "HEADER_CONVERTER", name, error) for row, error in lists.failed_rows.items()
        ]


@dataclass(frozen=True)
class _UniformHeaders:
    """Headers of one name and schema: their positions among all headers, and their values."""

    key: str
    schema: str | None
    places: Any
    values: Any

    def is_whole(self, column: Any, type_: Any) -> bool:
        """Return whether a column made from these has that type and one element per header."""
        return bool(column.type == type_) and len(column) == len(self.values)

    def is_each(self, found: HeaderColumns) -> bool:
        """Return whether each header has a schema and a value, and nulls are only where the schema allows them."""
        columns = (found.schemas, found.values)
        if not all(column.type == pa.string() and len(column) == len(self.values) for column in columns):
            return False
        if found.values.null_count == 0:
            return True
        kinds = found.schemas.filter(found.values.is_null()).unique().to_pylist()
        return all(kind is None or schema_from_text(kind).optional for kind in kinds)

    def failed(self, encoded: Any, code: int, error: Exception) -> Iterator[tuple[int, Exception]]:
        """Yield the positions of a value that failed."""
        for place in self.places[encoded.indices.to_numpy() == code].tolist():
            yield place, error


def _columns(found: ColumnRun | HeaderColumns | Declined) -> Any:
    """Return the schemas and values of converted headers as the columns of a batch."""
    if found is NotImplemented:
        return NotImplemented
    if isinstance(found, HeaderColumns):
        return [found.schemas, found.values]
    schema, column = found.schema, found.column
    is_text = schema is not None and schema.type is Type.STRING
    texts = column if is_text else header_texts(schema, column_to_values(schema, column))
    return schema_texts(schema, len(column)), texts


def _schema_of(alike: _UniformHeaders) -> Schema | None:
    return None if alike.schema is None else schema_from_text(alike.schema)


def _alike(width: int, values: Any, keys: Any, schemas: Any = None) -> Iterator[_UniformHeaders]:
    """Yield uniform groups of headers; the rows of most topics have the same ``width`` headers in the same order."""
    import numpy as np  # a stage without headers needs only Arrow

    if len(values) == 0:
        return
    if 0 < width <= _FEW and repeats(keys, width) and (schemas is None or repeats(schemas, width)):
        for first in range(width):
            places = np.arange(first, len(values), width)
            schema = None if schemas is None else schemas[first].as_py()
            yield _UniformHeaders(keys[first].as_py(), schema, places, values.take(pa.array(places)))
        return
    names = keys.dictionary_encode("encode")
    kinds = pa.nulls(len(values), pa.string()) if schemas is None else schemas
    kinds = kinds.dictionary_encode("encode")
    width = len(kinds.dictionary)
    codes = names.indices.to_numpy().astype(np.int64) * width + kinds.indices.to_numpy()
    # Two-byte numbers use a radix sort.
    codes = codes.astype(np.uint16) if len(names.dictionary) * width <= 1 << 16 else codes
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    cuts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)]
    ordered = values if len(cuts) == 2 else values.take(pa.array(order))
    for start, end in zip(cuts, cuts[1:]):
        name, kind = divmod(int(codes[start]), width)
        key, schema = names.dictionary[name].as_py(), kinds.dictionary[kind].as_py()
        yield _UniformHeaders(key, schema, order[start:end], ordered.slice(start, end - start))


@dataclass
class _Lists:
    """A headers column split into its parts, and the headers that failed."""

    column: Any
    failed: dict[int, Exception] = field(default_factory=dict)
    """By the header's position among all headers."""
    failed_rows: dict[int, Exception] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entries = self.column.flatten()
        self.lengths = list_lengths(self.column).to_numpy()
        self.width = common_length(self.lengths)

    def in_order(self, parts: list[tuple[Any, Any]], type_: Any) -> Any:
        """Return parts, each with the positions of its elements, as one array of a type."""
        import numpy as np

        if len(parts) < 2:
            return parts[0][1] if parts else pa.array([], type_)
        whole = joined([part for _, part in parts])
        inverse = np.empty(len(whole), np.int64)
        inverse[np.concatenate([places for places, _ in parts])] = np.arange(len(whole))
        return whole.take(pa.array(inverse))

    def rebuilt(self, parts: list[Any], build: Any) -> Any:
        """Return the parts of all headers as lists again; a row with a failed header gets an empty list."""
        import numpy as np

        lengths = self.lengths
        if self.failed:
            rows = np.repeat(np.arange(len(lengths)), lengths)
            for place in sorted(self.failed):
                self.failed_rows.setdefault(int(rows[place]), self.failed[place])
            is_failed = np.isin(np.arange(len(lengths)), list(self.failed_rows))
            parts = [part.filter(pa.array(~is_failed[rows])) for part in parts]
            lengths = np.where(is_failed, 0, lengths)
        ends = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=ends[1:])
        return build(pa.array(ends), *parts)
