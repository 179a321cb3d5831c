"""Kafka's headers, names with bytes: as a column of lists, as Python lists, and as Connect headers for a converter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from typing import Any

from hearth_api import OPTIONAL_BYTES_SCHEMA, DataError, Header, Headers
from hearth_api.batch import arrow as pa

RawHeaders = list[tuple[str, "bytes | None"]]


def to_headers(raw: RawHeaders) -> Headers:
    """Return the headers that a converter may read and change."""
    return Headers([Header(key, OPTIONAL_BYTES_SCHEMA, data) for key, data in raw])


def from_headers(headers: Headers) -> RawHeaders:
    """Return a converter's changed headers; encodes text as UTF-8 and raises a DataError for other types."""
    return [(header.key, _data(header)) for header in headers]


def raw_column(rows: Sequence[RawHeaders]) -> Any:
    """Return the headers of all rows as a column: lists of structs of `key` (utf8) and `value` (binary)."""
    flat = list(chain.from_iterable(rows))
    keys, values = pa.array([key for key, _ in flat], pa.string()), pa.array([data for _, data in flat], pa.binary())
    return raw_lists(pa.array([0, *accumulate(map(len, rows))], pa.int32()), keys, values)


def raw_lists(ends: Any, keys: Any, values: Any) -> Any:
    """Return a headers column of these parts; `ends` starts with 0 and holds the end of each row's headers."""
    return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays([keys, values], names=["key", "value"]))


def check_raw(column: Any) -> None:
    """Raise a ``ValueError`` for a column that does not hold valid headers."""
    empty = raw_column([])
    if column.type != empty.type or column.flatten().field("key").null_count:
        raise ValueError(f"the headers column has type {column.type}, expected {empty.type} without null names")


def raw_rows(column: Any) -> list[RawHeaders]:
    """Return the headers of all rows of a column."""
    entries = column.flatten()
    flat = list(zip(entries.field("key").to_pylist(), entries.field("value").to_pylist()))
    ends = [0, *accumulate(list_lengths(column).to_pylist())]
    return [flat[start:end] for start, end in zip(ends, ends[1:])]


def list_lengths(column: Any) -> Any:
    """Return the number of headers of each row."""
    lengths = pa.compute.list_value_length(column)
    return pa.compute.fill_null(lengths, 0) if lengths.null_count else lengths


def common_length(lengths: Any) -> int:
    """Return the number of headers per row if all rows have the same, else 0; takes a numpy array."""
    first = int(lengths[0]) if len(lengths) else 0
    return first if (lengths == first).all() else 0


class HeaderRows:
    """The headers of the rows of one column of cells, for converters that read them row by row.

    The column is converted on first access; ``changed`` holds the rows that were written.
    """

    def __init__(self, column: Any = None) -> None:
        self._column = column
        self._rows: list[RawHeaders] | None = None
        self.changed: dict[int, RawHeaders] = {}

    def __getitem__(self, position: int) -> RawHeaders:
        """Return the headers of a row."""
        if position in self.changed:
            return self.changed[position]
        if self._column is None:
            return []
        if self._rows is None:
            self._rows = raw_rows(self._column)
        return self._rows[position]

    def has_any(self, names: frozenset[str]) -> bool:
        """Return whether any row has a header with one of these names."""
        if self._column is None or not names:
            return False
        keys = self._column.flatten().field("key")
        return bool(pa.compute.any(pa.compute.is_in(keys, pa.array(sorted(names), pa.string()))).as_py())

    def __setitem__(self, position: int, own: RawHeaders) -> None:
        """Replace the headers of a row."""
        self.changed[position] = own


def with_changes(column: Any, changed: Mapping[int, RawHeaders], count: int) -> Any:
    """Return a headers column (or ``None``) with the changed rows applied, for ``count`` rows."""
    if not changed:
        return column
    rows = [[] for _ in range(count)] if column is None else raw_rows(column)
    for position, own in changed.items():
        rows[position] = own
    return raw_column(rows)


def _data(header: Header) -> bytes | None:
    value = header.value
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise DataError(f"the converter set header {header.key!r} to {type(value).__name__}, Kafka's headers are bytes")
