"""Headers of many records as one column of lists, there and back.

The headers of all rows stand one behind the other in three columns: names, schemas (as JSON text, null = none) and
values as texts. What has a schema of texts is such a text itself; any other value is the JSON text of its physical
form. Names and schemas are few, so each is read once, and values of one schema are taken from the column together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import numbers, values_to_column
from hearth_api.batch.wire import value_from_json, value_to_json
from hearth_api.header import Header, Headers
from hearth_api.java.schema_json import schema_from_text, schema_to_text
from hearth_api.schema import Schema, Type
from hearth_api.struct import Struct, validate_value


def headers_to_column(headers: Sequence[Headers | None]) -> Any:
    """Return the headers of several records as a column; a value that does not fit its schema raises a DataError."""
    rows: list[Sequence[Header]] = [() if own is None else own._items for own in headers]
    flat = list(chain.from_iterable(rows))
    ends = [0, *accumulate(map(len, rows))]
    names = pa.array([header.key for header in flat], pa.string())
    schemas, values = _parts([header._schema for header in flat], [header.value for header in flat])
    return header_lists(pa.array(ends, pa.int32()), names, schemas, values)


def column_to_headers(column: Any) -> list[Headers | None]:
    """Return the headers of several records from a column; None where a record has none.

    They are read from it when those of one record are looked at: then those of all.
    """
    read, later = HeaderReader(column), Headers.later
    return [later(read, row) if count else None for row, count in enumerate(_counts(column))]


def header_lists(ends: Any, names: Any, schemas: Any, values: Any) -> Any:
    """Return the column of headers of these parts; the headers of a row end where `ends` says, which begins with 0."""
    entries = pa.StructArray.from_arrays([names, schemas, values], names=["key", "schema", "value"])
    return pa.ListArray.from_arrays(ends, entries)


def schema_texts(schema: Schema | None, count: int) -> Any:
    """Return what stands in a column of headers for one schema, so many times."""
    return pa.repeat(pa.scalar(None if schema is None else schema_to_text(schema), pa.string()), count)


def header_texts(schema: Schema | None, values: Sequence[Any]) -> Any:
    """Return values of one schema as they stand in a column of headers."""
    if schema is not None and schema.type is Type.STRING:
        return values_to_column(schema, values)
    return pa.array([header_text(schema, value) for value in values], pa.string())


def header_text(schema: Schema | None, value: Any) -> str | None:
    """Return one value as it stands in a column of headers; one that does not fit its schema raises a DataError."""
    if value is None:
        return None
    if schema is not None and schema.type is Type.STRING:
        validate_value(schema, value)
        return str(value)
    return value_to_json(schema, value)


def header_values(schema: Schema | None, texts: Any) -> list[Any]:
    """Return the values that `header_texts` made the texts of."""
    found: list[str | None] = texts.to_pylist()
    if schema is not None and schema.type is Type.STRING:
        return found
    return [None if text is None else value_from_json(schema, text) for text in found]


class HeaderReader:
    """Reads the headers of a column's rows, all of them when it is asked for some."""

    def __init__(self, column: Any) -> None:
        self._column = column
        self._ends: list[int] = []
        self._headers: list[Header] = []

    def __call__(self, row: int) -> list[Header]:
        """Return the headers of a row."""
        if not self._ends:
            self._read()
        return self._headers[self._ends[row] : self._ends[row + 1]]

    def _read(self) -> None:
        entries = self._column.flatten()
        self._headers = list(map(Header, interned(entries.field("key")), *_schemas_and_values(entries)))
        self._ends = [0, *accumulate(_counts(self._column))]


def _counts(column: Any) -> list[int]:
    return numbers("i", pa.compute.fill_null(pa.compute.list_value_length(column), 0))


def interned(column: Any) -> list[Any]:
    """Return the texts of a column in which few different ones stand again and again."""
    words, codes = coded(column)
    return words * len(codes) if len(words) == 1 else [words[code] for code in codes]


def coded(column: Any) -> tuple[list[Any], list[int]]:
    """Return the different values of a column, null among them, and for each row which of them it has."""
    encoded = column.dictionary_encode("encode")
    return encoded.dictionary.to_pylist(), numbers("i", encoded.indices)


def _schemas_and_values(entries: Any) -> tuple[list[Schema | None], list[Any]]:
    encoded = entries.field("schema").dictionary_encode("encode")
    schemas = [None if text is None else schema_from_text(text) for text in encoded.dictionary.to_pylist()]
    texts, count = entries.field("value"), len(entries)
    if len(schemas) == 1:
        return schemas * count, header_values(schemas[0], texts)
    values: list[Iterator[Any]] = []
    for code, schema in enumerate(schemas):
        values.append(iter(header_values(schema, texts.filter(pa.compute.equal(encoded.indices, code)))))
    codes = numbers("i", encoded.indices)
    return [schemas[code] for code in codes], [next(values[code]) for code in codes]


def _parts(schemas: Sequence[Schema | None], values: Sequence[Any]) -> tuple[Any, Any]:
    """Return the columns of schemas and of values; nearly always there is one schema, the very same object."""
    if len(set(map(id, schemas))) == 1 and schemas[0] is not None:
        return schema_texts(schemas[0], len(values)), header_texts(schemas[0], values)
    schemas = [
        value.schema if schema is None and isinstance(value, Struct) else schema
        for schema, value in zip(schemas, values)
    ]
    distinct = {id(schema): schema for schema in schemas}
    own: dict[int, list[Any]] = {number: [] for number in distinct}
    for schema, value in zip(schemas, values):
        own[id(schema)].append(value)
    written = {number: iter(header_texts(distinct[number], part).to_pylist()) for number, part in own.items()}
    texts = {number: None if schema is None else schema_to_text(schema) for number, schema in distinct.items()}
    numbered = [id(schema) for schema in schemas]
    return (
        pa.array([texts[number] for number in numbered], pa.string()),
        pa.array([next(written[number]) for number in numbered], pa.string()),
    )
