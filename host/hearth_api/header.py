"""Record headers: named values with schemas; names may repeat."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from hearth_api.errors import DataError, UnknownNameError
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from hearth_api.struct import Struct
from hearth_api.validation import validate_value

_NO_KEY = "Null header keys are not permitted"


class Header:
    """One header; immutable."""

    __slots__ = ("_schema", "key", "value")

    def __init__(self, key: str, schema: Schema | None = None, value: Any = None) -> None:
        """Store the parts."""
        if key is None:
            raise DataError(_NO_KEY)
        self.key = key
        self.value = value
        self._schema = schema

    @property
    def schema(self) -> Schema | None:
        """Return the schema; for a struct given without one, the struct's own."""
        schema = self._schema
        return self.value.schema if schema is None and isinstance(self.value, Struct) else schema

    def rename(self, key: str) -> Header:
        """Return a header with the same value under another name."""
        return self if key == self.key else Header(key, self._schema, self.value)

    def with_value(self, schema: Schema | None, value: Any) -> Header:
        """Return a header with another value under the same name."""
        return Header(self.key, schema, value)

    def __eq__(self, other: object) -> bool:
        """Compare name, schema and value."""
        if not isinstance(other, Header):
            return NotImplemented
        return self.key == other.key and self.schema == other.schema and self.value == other.value

    def __hash__(self) -> int:
        """Return a hash of name and schema, since not every value is hashable."""
        return hash((self.key, self.schema))

    def __repr__(self) -> str:
        """Return Kafka Connect's text of a header."""
        return f"ConnectHeader(key={self.key}, value={self.value}, schema={self.schema})"


class Headers:
    """The headers of one record, in order; methods change it in place and return it.

    `headers["trace"]` is the value of the newest header of a name; iteration yields each `Header`.

    New headers are stored as a flat sequence of names, schemas and values until they are first read, because most
    records' headers are only written.
    """

    __slots__ = ("_items", "_parts")

    _items: tuple[Header, ...] | None
    """The headers once read; None means that they are still only `_parts`."""
    _parts: tuple[Any, ...]

    def __init__(self, headers: Iterable[Header] | None = None) -> None:
        """Start with copies of the given headers, or none."""
        self._items = None if headers is None else tuple(headers)
        self._parts = ()

    def __len__(self) -> int:
        """Return how many headers there are."""
        return len(self._parts) // 3 if self._items is None else len(self._items)

    def __iter__(self) -> Iterator[Header]:
        """Iterate in order."""
        return iter(self._materialized())

    def __getitem__(self, key: str) -> Any:
        """Return the value of the newest header of a name; an unknown name raises a KeyError (and DataError)."""
        header = self.last_with_name(key)
        if header is None:
            names = tuple(dict.fromkeys(header.key for header in self))
            raise UnknownNameError("the record", "header", key, names)
        return header.value

    def __contains__(self, key: object) -> bool:
        """Return whether there is a header of the name, or this very `Header`."""
        if isinstance(key, Header):
            return key in self._materialized()
        return any(header.key == key for header in self._materialized())

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of the newest header of a name, or the default if there is none."""
        header = self.last_with_name(key)
        return default if header is None else header.value

    def add(self, key: str | Header, schema: Schema | None = None, value: Any = None) -> Headers:
        """Append a header; a value that does not fit its schema raises a DataError."""
        header = key if isinstance(key, Header) else Header(key, schema, value)
        known, value = header.schema, header.value
        if known is not None and (type(value) is not known._kind or known._most is not None):
            _check(known, value)
        if self._items is None and header is not key:
            self._parts += (key, schema, value)
        else:
            self._items = (*self._materialized(), header)
        return self

    def add_string(self, key: str, value: str) -> Headers:
        """Append a STRING header."""
        if type(value) is not str or key is None or self._items is not None:
            return self.add(key, STRING_SCHEMA, value)
        self._parts += (key, STRING_SCHEMA, value)
        return self

    def add_bytes(self, key: str, value: bytes) -> Headers:
        """Append a BYTES header."""
        return self.add(key, BYTES_SCHEMA, value)

    def add_boolean(self, key: str, value: bool) -> Headers:
        """Append a BOOLEAN header."""
        return self.add(key, BOOLEAN_SCHEMA, value)

    def add_int(self, key: str, value: int) -> Headers:
        """Append an INT64 header."""
        return self.add(key, INT64_SCHEMA, value)

    def add_float(self, key: str, value: float) -> Headers:
        """Append a FLOAT64 header."""
        return self.add(key, FLOAT64_SCHEMA, value)

    def last_with_name(self, key: str) -> Header | None:
        """Return the newest header of a name, or None."""
        for header in reversed(self._materialized()):
            if header.key == key:
                return header
        return None

    def all_with_name(self, key: str) -> list[Header]:
        """Return the headers of a name, in order."""
        return [header for header in self._materialized() if header.key == key]

    def remove(self, key: str) -> Headers:
        """Remove every header of a name."""
        self._items = tuple(header for header in self._materialized() if header.key != key)
        return self

    def retain_latest(self, key: str | None = None) -> Headers:
        """Keep only the newest header of a name, or of every name."""
        seen: set[str] = set()
        kept = []
        for header in reversed(self._materialized()):
            if header.key not in seen or (key is not None and header.key != key):
                kept.append(header)
            seen.add(header.key)
        self._items = tuple(reversed(kept))
        return self

    def apply(self, transform: Callable[[Header], Header | None], key: str | None = None) -> Headers:
        """Replace every header (of one name) with the result of the function; None removes it."""
        changed = [header if key not in (None, header.key) else transform(header) for header in self._materialized()]
        self._items = tuple(header for header in changed if header is not None)
        return self

    def clear(self) -> Headers:
        """Remove all headers."""
        self._items, self._parts = None, ()
        return self

    def duplicate(self) -> Headers:
        """Return headers that can be changed without changing these."""
        other = Headers.__new__(Headers)
        other._items, other._parts = self._items, self._parts
        return other

    def __eq__(self, other: object) -> bool:
        """Compare header by header."""
        return self._materialized() == other._materialized() if isinstance(other, Headers) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash of the headers at this moment."""
        return hash(self._materialized())

    def __repr__(self) -> str:
        """Return Kafka Connect's text of headers."""
        return f"ConnectHeaders(headers={[*self._materialized()] or ''})"

    def _flat(self) -> tuple[Any, ...]:
        """Return name, schema (as given) and value of each header as one flat tuple."""
        items = self._items
        if items is None:
            return self._parts
        return tuple([part for header in items for part in (header.key, header._schema, header.value)])

    def _materialized(self) -> tuple[Header, ...]:
        """Return the headers; two threads reading at once build them twice, and either result may be kept."""
        items = self._items
        if items is None:
            parts = self._parts
            self._items = items = tuple(map(Header, parts[::3], parts[1::3], parts[2::3]))
        return items


def flat_rows(headers: Iterable[Headers | None]) -> list[tuple[Any, ...]]:
    """Return a flat tuple of name, schema (as given) and value of each header, for each record."""
    return [() if own is None else own._flat() for own in headers]


def alike_headers(headers: Iterable[Headers | None]) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Return name, schema and value of each header of the first record, and the values of all headers of all records.

    Returns None if there are no headers, if names or schemas differ between records, or if a header has no schema.
    """
    first: tuple[Any, ...] = ()
    values: list[Any] = []
    for own in headers:
        parts = () if own is None else own._flat()
        if not first:
            first = parts
        if not parts or len(parts) != len(first):
            return None
        for place in range(0, len(parts), 3):
            key, schema = parts[place], parts[place + 1]
            if schema is None or not (key is first[place] or key == first[place]):
                return None
            if not (schema is first[place + 1] or schema == first[place + 1]):
                return None
            values.append(parts[place + 2])
    return (first, values) if first else None


def _check(schema: Schema, value: Any) -> None:
    if value is None and not schema.optional:
        raise DataError(f"A null value requires an optional schema but was {schema}")
    # Kafka Connect does not check inside containers either.
    if value is None or (schema.type in (Type.ARRAY, Type.MAP) and isinstance(value, (list, tuple, dict))):
        return
    try:
        validate_value(schema, value)
    except DataError as error:
        raise DataError(f"The value {value} is not compatible with the schema {schema}") from error
