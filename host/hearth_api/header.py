"""Headers of records: named values with schemas, several of one name allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from hearth_api.errors import DataError
from hearth_api.schema import (
    BOOLEAN_SCHEMA,
    BYTES_SCHEMA,
    FLOAT64_SCHEMA,
    INT64_SCHEMA,
    STRING_SCHEMA,
    Schema,
    Type,
)
from hearth_api.struct import Struct, validate_value

_new: Any = object.__new__
_NO_KEY = "Null header keys are not permitted"


class Header:
    """One header; immutable."""

    __slots__ = ("_schema", "key", "value")

    def __init__(self, key: str, schema: Schema | None = None, value: Any = None) -> None:
        """Name a value."""
        if key is None:
            raise DataError(_NO_KEY)
        self.key = key
        self.value = value
        self._schema = schema

    @classmethod
    def of_values(cls, key: str, schema: Schema | None, values: Sequence[Any]) -> list[Header]:
        """Return headers of one name and schema, one for each value."""
        made: list[Header] = list(map(_new, repeat(cls, len(values))))
        header: Header
        for header, header.value in zip(made, values):
            header.key = key
            header._schema = schema
        return made

    @property
    def schema(self) -> Schema | None:
        """Return the schema; a struct without one answers with its own."""
        schema = self._schema
        return self.value.schema if schema is None and isinstance(self.value, Struct) else schema

    def rename(self, key: str) -> Header:
        """Return the same value under another name."""
        return self if key == self.key else Header(key, self._schema, self.value)

    def with_value(self, schema: Schema | None, value: Any) -> Header:
        """Return another value under the same name."""
        return Header(self.key, schema, value)

    def __eq__(self, other: object) -> bool:
        """Compare name, schema and value."""
        if not isinstance(other, Header):
            return NotImplemented
        return self.key == other.key and self.schema == other.schema and self.value == other.value

    def __hash__(self) -> int:
        """Return a hash of name and schema, since not every value has one."""
        return hash((self.key, self.schema))

    def __repr__(self) -> str:
        """Return Kafka Connect's text of a header."""
        return f"ConnectHeader(key={self.key}, value={self.value}, schema={self.schema})"


class Headers:
    """The headers of one record, in order; changed in place, every change returns the headers themselves."""

    __slots__ = ("_items",)

    def __init__(self, headers: Iterable[Header] | None = None) -> None:
        """Start with copies of the given headers, or none."""
        self._items: list[Header] = list(headers) if headers is not None else []

    @classmethod
    def of_each(cls, rows: Iterable[list[Header]]) -> list[Headers]:
        """Return the headers of records; each takes its list, which nobody else has."""
        made = []
        for items in rows:
            headers = _new(cls)
            headers._items = items
            made.append(headers)
        return made

    def __len__(self) -> int:
        """Return how many headers there are."""
        return len(self._items)

    def __iter__(self) -> Iterator[Header]:
        """Iterate in order."""
        return iter(self._items)

    def add(self, key: str | Header, schema: Schema | None = None, value: Any = None) -> Headers:
        """Append a header; a value that does not fit its schema raises a DataError."""
        if isinstance(key, Header):
            header, schema, value = key, key.schema, key.value
        else:
            header = Header(key, schema, value)
            schema = header.schema if schema is None else schema
        if schema is not None and (type(value) is not schema._kind or schema._most is not None):
            _check(schema, value)
        self._items.append(header)
        return self

    def add_string(self, key: str, value: str) -> Headers:
        """Append a STRING header."""
        if type(value) is not str:
            return self.add(key, STRING_SCHEMA, value)
        if key is None:
            raise DataError(_NO_KEY)
        header = _new(Header)
        header.key = key
        header.value = value
        header._schema = STRING_SCHEMA
        self._items.append(header)
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
        return next((header for header in reversed(self._items) if header.key == key), None)

    def all_with_name(self, key: str) -> list[Header]:
        """Return the headers of a name, in order."""
        return [header for header in self._items if header.key == key]

    def remove(self, key: str) -> Headers:
        """Remove every header of a name."""
        self._items = [header for header in self._items if header.key != key]
        return self

    def retain_latest(self, key: str | None = None) -> Headers:
        """Keep only the newest header of a name, or of every name."""
        seen: set[str] = set()
        kept = []
        for header in reversed(self._items):
            if header.key not in seen or (key is not None and header.key != key):
                kept.append(header)
            seen.add(header.key)
        self._items = kept[::-1]
        return self

    def apply(self, transform: Callable[[Header], Header | None], key: str | None = None) -> Headers:
        """Replace every header (of one name) by what the function returns; None removes it."""
        changed = [header if key not in (None, header.key) else transform(header) for header in self._items]
        self._items = [header for header in changed if header is not None]
        return self

    def clear(self) -> Headers:
        """Remove all headers."""
        self._items.clear()
        return self

    def duplicate(self) -> Headers:
        """Return headers that can be changed without changing these."""
        return Headers(self._items)

    def __eq__(self, other: object) -> bool:
        """Compare header by header."""
        return self._items == other._items if isinstance(other, Headers) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash of the headers at this moment."""
        return hash(tuple(self._items))

    def __repr__(self) -> str:
        """Return Kafka Connect's text of headers."""
        return f"ConnectHeaders(headers={self._items or ''})"


def _check(schema: Schema, value: Any) -> None:
    if value is None and not schema.optional:
        raise DataError(f"A null value requires an optional schema but was {schema}")
    # Inside of containers Kafka Connect does not look, either.
    if value is None or (schema.type in (Type.ARRAY, Type.MAP) and isinstance(value, (list, tuple, dict))):
        return
    try:
        validate_value(schema, value)
    except DataError as error:
        raise DataError(f"The value {value} is not compatible with the schema {schema}") from error
