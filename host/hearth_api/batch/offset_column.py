"""Source offsets of many records as a column of JSON texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.record_parts import counted
from hearth_api.java.offset_json import offset_opening, offsets_to_json

try:
    from hearth_api.batch.offset_loop import LONGEST, write_offsets
except ImportError:  # not compiled, see hatch_build
    write_offsets = None  # type: ignore[assignment]

IS_COMPILED = write_offsets is not None
_BEHIND = 1 << 31
"""A position after every text that a column can hold."""


def offsets_to_column(offsets: Sequence[Any]) -> Any:
    """Return offsets, which may include None, as a column; one that cannot be written raises a DataError.

    Nearly every source's offsets have an integer as their only member; those are written together.
    """
    found = counted(offsets) if len(offsets) else None
    column = None if found is None else _written(*found)
    return pa.array(offsets_to_json(offsets), pa.string()) if column is None else column


def column_to_offsets(name: str, column: Any) -> Any:
    """Return a column of offsets whose only member is the value of a physical column."""
    values = column.to_pylist()
    is_counted = pa.types.is_integer(column.type) and not column.null_count and len(values) > 0
    found = _written(name, values) if is_counted else None
    return offsets_to_column([{name: value} for value in values]) if found is None else found


def _written(name: str, numbers: list[int]) -> Any:
    """Return integers as offset texts; None if one exceeds 64 bits, or the loop is not compiled."""
    if not IS_COMPILED:
        return None
    opening, count = offset_opening(name).encode(), len(numbers)
    room = count * (len(opening) + LONGEST)
    if room >= _BEHIND:
        return None
    ends, content = pa.allocate_buffer(4 * (count + 1)), pa.allocate_buffer(room)
    size = write_offsets(numbers, opening, ends.address, content.address)
    return None if size < 0 else pa.Array.from_buffers(pa.string(), count, [None, ends, content.slice(0, size)], 0)
