"""The records of a stored file: rows of its values with those of the files of keys and headers beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api import STRING_SCHEMA, DataError, Headers
from hearth_api.batch import header_lists, headers_to_column, schema_texts
from hearth_storage.format.compression import bare_name, decompressed
from hearth_storage.format.format import Rows
from hearth_storage.place.place import Entry
from hearth_storage.source.source_setting import StorageSourceConfig
from hearth_storage.source.stored_file import StoredFile

Open = Callable[[Entry], BinaryIO]


@dataclass(frozen=True)
class FileRows:
    """Consecutive records of one schema: columns of values and keys, and of headers; `first` is the row of the first.

    `is_last` says that no record follows.
    """

    first: int
    value: Rows
    key: Rows | None
    headers: Any
    is_last: bool


def rows_of(file: StoredFile, start: int, settings: StorageSourceConfig, open_: Open) -> Iterator[FileRows]:
    """Yield the records of a file from row `start` on, with at most `settings.limit` rows in each.

    Raises DataError for files that do not parse or do not fit each other.
    """
    keys = headers = None
    if file.key is not None and (settings.store_keys or file.value is None):
        keys = _Side(file.key, _read(file.key, "keys.format.class", settings.keys_format, start, settings, open_))
    if file.headers is not None and settings.store_headers:
        chosen = settings.headers_format
        headers = _Side(file.headers, _read(file.headers, "headers.format.class", chosen, start, settings, open_))
    if file.value is not None:
        values = _read(file.value, "format.class", "", start, settings, open_)
    else:
        assert keys is not None
        values = keys.tombstones()
    for rows, is_last in _with_end(_limited(values, settings.limit)):
        count = len(rows.column)
        key = None if keys is None else _bare(keys.take(count), "RecordKey")
        own = None if headers is None else _headers(_bare(headers.take(count), "RecordHeaders").column)
        yield FileRows(start, rows, key, own, is_last)
        start += count


def _read(
    entry: Entry, key: str, chosen: str, start: int, settings: StorageSourceConfig, open_: Open
) -> Iterator[Rows]:
    name = bare_name(entry.name)
    found = settings.named(key, chosen) if chosen else settings.format_of(name)
    assert found is not None, "a file of an unknown format is not listed"
    with open_(entry) as file:
        yield from found.read(decompressed(file, entry.name), start)


class _Side:
    """Rows of a file beside, taken in other numbers than it has them."""

    def __init__(self, entry: Entry, rows: Iterator[Rows]) -> None:
        self._name = entry.name
        self._rows = rows
        self._waiting: deque[Rows] = deque()

    def take(self, count: int) -> Rows:
        """Return the next `count` rows."""
        found: list[Rows] = []
        while count:
            rows = self._waiting.popleft() if self._waiting else next(self._rows, None)
            if rows is None:
                raise DataError(f"{self._name} has fewer rows than the file that it belongs to")
            if found and rows.schema != found[0].schema:
                raise DataError(f"{self._name} changes its schema within a file")
            taken = min(count, len(rows.column))
            found.append(Rows(rows.schema, rows.column.slice(0, taken)))
            if taken < len(rows.column):
                self._waiting.appendleft(Rows(rows.schema, rows.column.slice(taken)))
            count -= taken
        return (
            found[0] if len(found) == 1 else Rows(found[0].schema, pa.concat_arrays([each.column for each in found]))
        )

    def tombstones(self) -> Iterator[Rows]:
        """Yield null values for the rows there are, which wait to be taken."""
        for rows in self._rows:
            self._waiting.append(rows)
            yield Rows(None, pa.nulls(len(rows.column), pa.string()))


def _limited(found: Iterator[Rows], limit: int) -> Iterator[Rows]:
    for rows in found:
        for start in range(0, len(rows.column), limit):
            yield Rows(rows.schema, rows.column.slice(start, limit))


def _with_end(found: Iterator[Rows]) -> Iterator[tuple[Rows, bool]]:
    """Yield rows with whether they are the last."""
    before = next(found, None)
    for rows in found:
        if before is not None:
            yield before, False
        before = rows
    if before is not None:
        yield before, True


def _bare(rows: Rows, name: str) -> Rows:
    """Return keys or headers without the struct in which Parquet has them."""
    schema = rows.schema
    if schema is None or schema.name != name or len(schema.fields) != 1:
        return rows
    return Rows(schema.fields[0].schema, rows.column.field(0))


def _headers(column: Any) -> Any:
    """Return names and texts as a headers column of strings."""
    if not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        return _of_plain(column)
    offsets, entries = column.offsets, column.values
    if len(column):
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        offsets, entries = (
            pc.subtract(offsets, pa.scalar(first, pa.int32())),
            entries.slice(first, last - first),
        )
    names, texts = entries.field("key"), entries.field("value")
    return header_lists(offsets, names, schema_texts(STRING_SCHEMA, len(entries)), texts)


def _of_plain(column: Any) -> Any:
    """Return headers that were read as JSON without schema."""
    made = []
    for text in column.to_pylist():
        tree = orjson.loads(text)
        pairs = tree["headers"] if isinstance(tree, dict) else tree
        headers = Headers()
        for each in pairs:
            headers.add(each["key"], STRING_SCHEMA, each["value"])
        made.append(headers)
    return headers_to_column(made)
