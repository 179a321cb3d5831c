"""Members of the maps of a schemaless column: found in one loop, read as columns, and replaced.

Without the compiled loop (`hatch_build`), no map is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.batch.scalar_column import ScalarColumn, UnlikeError
from hearth_api.batch.wire import plain_to_json, strict_json
from hearth_api.layout.scalars import ScalarsOfColumn
from hearth_api.layout.spans import Spans, address_of, as_string, constant, join, memory, replaced
from hearth_api.schema import BOOLEAN_SCHEMA, FLOAT64_SCHEMA, INT64_SCHEMA, STRING_SCHEMA, Schema

try:
    from hearth_api.layout.json_index import MemberIndex
except ImportError:
    MemberIndex = None  # type: ignore[assignment,misc]

_ABSENT, _NULL, _BOOLEAN, _INTEGER, _FLOAT, _TEXT, _ESCAPED, _NESTED = range(8)
_SCHEMAS = {_BOOLEAN: BOOLEAN_SCHEMA, _INTEGER: INT64_SCHEMA, _FLOAT: FLOAT64_SCHEMA}
_MOST_NAMES = 16  # the kinds of their values in a row are one number of 64 bits
_BITS = 3
_MOST_BYTES = (1 << 31) - 1
_TRUE = constant("true")


class MapMembers:
    """The members of some names in the maps of a column."""

    def __init__(self, column: Any, names: Sequence[str]) -> None:
        """Find them in a string column of JSON written by this API.

        `rows` holds the ascending numbers of the maps in which this certainly succeeds; other methods number them
        from 0.
        """
        self._names = names
        self._content, self._offsets = memory(column)
        count = len(column)
        self.rows: Any = np.empty(0, np.int64)
        if MemberIndex is None or not count or not _can_find(names):
            return
        encoded = [name.encode() for name in names]
        self._index = MemberIndex(encoded, address_of(self._content), address_of(self._offsets), count)
        self._kinds = np.empty((len(names), count), np.uint8)
        self._starts, self._ends = (np.empty((len(names), count), np.int64) for _ in range(2))
        states = np.empty(count, np.uint8)
        self._index.find(*map(address_of, (self._kinds, self._starts, self._ends, states)))
        if column.null_count:
            states &= column.is_valid().to_numpy(zero_copy_only=False)
        self.rows = np.flatnonzero(states)

    def groups(self) -> Iterator[MemberGroup]:
        """Yield the maps whose members have values of the same kinds, group by group."""
        codes = np.zeros(len(self.rows), np.int64)
        for kinds in self._kinds[:, self.rows] if len(self.rows) else ():
            codes = codes << _BITS | kinds
        found, numbers = np.unique(codes, return_inverse=True)
        for number, code in enumerate(found.tolist()):
            kinds = [code >> _BITS * place & 7 for place in reversed(range(len(self._names)))]
            yield MemberGroup(self, np.flatnonzero(numbers == number), kinds)

    def spans(self, name: int, places: Any) -> Spans:
        """Return the texts of the values of one name, which each of the maps has."""
        rows = self.rows[places]
        return Spans(self._content, self._starts[name, rows], self._ends[name, rows])

    def has(self, name: int) -> Any:
        """Return a mask of the maps in which the member of a name is neither missing nor null."""
        return self._kinds[name, self.rows] > _NULL

    def copied(self, places: Any, over: Sequence[Any] = (), removes: bool = False) -> tuple[Any, Any]:
        """Return copies of the maps, as HashMaps, and a mask of those that it can certainly write.

        `over` holds a column for each name, with the texts that are put over the members, null where a member stays as
        it is. Without it the members are removed or, unless `removes`, kept.
        """
        texts = [memory(each) for each in over]
        valid = [each.is_valid().to_numpy(zero_copy_only=False).view(np.uint8) for each in over]
        rows = np.ascontiguousarray(self.rows[places])
        longer = sum(len(content) for content, _ in texts) + len(rows) * sum(
            len(name.encode()) + 4 for name in self._names
        )
        room = len(self._content) + 2 * len(rows) + longer
        count = len(rows)
        if room > _MOST_BYTES:
            return pa.array([], pa.string()), np.zeros(count, bool)
        out, ends, states = pa.allocate_buffer(room), pa.allocate_buffer(4 * (count + 1)), np.empty(count, np.uint8)
        addresses = [
            (address_of(content), address_of(offsets), address_of(mask))
            for (content, offsets), mask in zip(texts, valid)
        ]
        place = out.address, ends.address, address_of(states)
        size = self._index.write(addresses, removes, address_of(rows), count, *place)
        made, is_written = pa.Array.from_buffers(pa.string(), count, [None, ends, out.slice(0, size)]), states == 1
        return made if is_written.all() else made.filter(pa.array(is_written)), is_written


class MemberGroup:
    """Maps whose members of some names have values of the same kinds."""

    def __init__(self, members: MapMembers, places: Any, kinds: Sequence[int]) -> None:
        """Store the numbers of the maps, and the kind of each value."""
        self._members, self.places, self._kinds = members, places, kinds

    @property
    def is_nested(self) -> bool:
        """Return whether there are lists or maps among the values."""
        return _NESTED in self._kinds

    def value(self) -> dict[str, Any]:
        """Return a map with these members alone, which stands for all: with a `ScalarColumn` for each scalar."""
        return {name: self._scalar(number, kind) for number, name, kind in self._present()}

    def texts(self) -> Any:
        """Return the JSON texts of maps with these members alone."""
        pieces: list[Any] = [b"{"]
        for number, name, _ in self._present():
            comma = "" if pieces == [b"{"] else ","
            pieces += [f"{comma}{plain_to_json(name)}:".encode(), self._members.spans(number, self.places)]
        return as_string(join([*pieces, b"}"], len(self.places)))

    def _present(self) -> Iterator[tuple[int, str, int]]:
        for number, (name, kind) in enumerate(zip(self._members._names, self._kinds)):
            if kind != _ABSENT:
                yield number, name, kind

    def _scalar(self, number: int, kind: int) -> ScalarColumn | None:
        return None if kind == _NULL else _Texts(self._members.spans(number, self.places), kind)


class _Texts(ScalarColumn):
    """Scalars of one kind, given by their JSON texts; never null."""

    def __init__(self, spans: Spans, kind: int) -> None:
        self._spans, self._kind = spans, kind

    def column(self) -> tuple[Schema, Any]:
        """Return the values."""
        if self.is_text:
            texts = as_string(self._unquoted().column())
            if self._kind == _ESCAPED:
                texts = _unescaped(texts)
            return STRING_SCHEMA, texts
        schema, texts = _SCHEMAS[self._kind], as_string(self._spans.column())
        if schema is BOOLEAN_SCHEMA:
            return schema, pc.equal(texts, _TRUE)
        return schema, texts.cast(pa.int64() if schema is INT64_SCHEMA else pa.float64())

    @property
    def is_plain(self) -> bool:
        """Return True."""
        return True

    @property
    def is_text(self) -> bool:
        """Return it by the kind."""
        return self._kind in (_TEXT, _ESCAPED)

    def pieces(self) -> list[Any]:
        """Return the texts."""
        return [self._spans]

    def words(self) -> Any:
        """Return the texts without quotes and escapes."""
        if self._kind == _ESCAPED:
            return self.column()[1]
        return self._unquoted() if self.is_text else self._spans

    def part(self, mask: Any) -> ScalarColumn:
        """Return some of them."""
        return _Texts(self._spans.part(mask), self._kind)

    def retold(self, schema: Schema, column: Any) -> ScalarColumn:
        """Return the column with these words, unless they have escapes or a value is null."""
        is_whole = not column.null_count and self._kind != _ESCAPED
        return ScalarsOfColumn(schema, column, self.words() if is_whole else None)

    def _unquoted(self) -> Spans:
        return Spans(self._spans.content, self._spans.starts + 1, self._spans.ends - 1)


def _unescaped(texts: Any) -> Any:
    try:
        return replaced(texts, np.arange(len(texts)), lambda text: strict_json(f'"{text}"'))
    except ValueError as error:
        raise UnlikeError("half a character, which no column can hold") from error


def _can_find(names: Sequence[str]) -> bool:
    """Return whether the names are few enough, and none needs escapes or may be a tag."""
    try:
        are_plain = all(plain_to_json(name).encode()[1:-1] == name.encode() for name in names)
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return are_plain and len(names) <= _MOST_NAMES and not any(name.startswith("@") for name in names)
