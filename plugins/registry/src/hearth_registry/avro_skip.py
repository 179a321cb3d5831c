"""Skips unneeded values in Avro's binary encoding."""

from __future__ import annotations

from hearth_registry.avro_input import (
    PLAIN,
    Cursor,
    Read,
    branch_at,
    counts,
    fixed_of,
    int_at,
    least_size,
    null_at,
    text_at,
)
from hearth_registry.avro_type import AvroType


class Skipping:
    """Creates skip functions; a recursive record uses its own function."""

    def __init__(self) -> None:
        """Start without records."""
        self._records: dict[int, list[Read]] = {}

    def skip(self, written: AvroType) -> Read:
        """Return a function that skips a value of a type."""
        if written.kind == "record":
            return self._record(written)
        if written.kind == "union":
            parts = [self.skip(each) for each in written.branches]
            return lambda cursor: branch_at(cursor, parts)(cursor)
        if written.kind == "array" or written.kind == "map":
            return self._items(written)
        if written.kind == "fixed":
            return fixed_of(written.size)
        return int_at if written.kind == "enum" else PLAIN[written.kind]

    def _record(self, written: AvroType) -> Read:
        is_new = id(written) not in self._records
        parts = self._records.setdefault(id(written), [])
        if is_new:
            parts += [self.skip(each.type) for each in written.fields]

        def skip(cursor: Cursor) -> None:
            for part in parts:
                part(cursor)

        return skip

    def _items(self, written: AvroType) -> Read:
        inner, least = self.skip(written.items), least_size(written.items)
        key = text_at if written.kind == "map" else null_at

        def skip(cursor: Cursor) -> None:
            while count := counts(cursor, least):
                for _ in range(count):
                    key(cursor)
                    inner(cursor)

        return skip
