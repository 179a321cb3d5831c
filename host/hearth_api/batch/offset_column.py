"""Source offsets of many records as a column of JSON texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import packed
from hearth_api.batch.record_parts import counted
from hearth_api.java.offset_json import offset_opening, offsets_to_json
from hearth_api.schema import INT64_SCHEMA

try:
    from hearth_api.batch.offset_loop import LONGEST, write_offsets
except ImportError:  # not compiled, see hatch_build
    write_offsets = None  # type: ignore[assignment]

_FEW = 100
"""Up to this many are written faster one by one than by Arrow."""
_BEHIND = 1 << 31
"""A position after every text that a column can hold."""


def offsets_to_column(offsets: Sequence[Any]) -> Any:
    """Return offsets, which may include None, as a column; one that cannot be written raises a DataError.

    Nearly every source's offsets have an integer as their only member; those are written together.
    """
    found = counted(offsets) if len(offsets) else None
    column = None if found is None else WRITE(*found)
    return pa.array(offsets_to_json(offsets), pa.string()) if column is None else column


def column_to_offsets(name: str, column: Any) -> Any:
    """Return a column of offsets whose only member is the value of a physical column."""
    values = column.to_pylist()
    is_counted = pa.types.is_integer(column.type) and not column.null_count and len(values) > 0
    found = WRITE(name, values) if is_counted else None
    return offsets_to_column([{name: value} for value in values]) if found is None else found


def write_by_loop(name: str, numbers: list[int]) -> Any:
    """Return integers as offset texts by a compiled loop; None if one exceeds 64 bits."""
    opening, count = offset_opening(name).encode(), len(numbers)
    room = count * (len(opening) + LONGEST)
    if room >= _BEHIND:
        return None
    ends, content = pa.allocate_buffer(4 * (count + 1)), pa.allocate_buffer(room)
    size = write_offsets(numbers, opening, ends.address, content.address)
    return None if size < 0 else pa.Array.from_buffers(pa.string(), count, [None, ends, content.slice(0, size)], 0)


def write_by_arrow(name: str, numbers: list[int]) -> Any:
    """Return them by Arrow's functions; None also if they are few."""
    positions = packed(INT64_SCHEMA, numbers) if len(numbers) > _FEW else None
    if positions is None:
        return None
    opened = pa.compute.binary_replace_slice(positions.cast(pa.string()), 0, 0, offset_opening(name))
    return pa.compute.binary_replace_slice(opened, _BEHIND, _BEHIND, "}")


WRITE = write_by_arrow if write_offsets is None else write_by_loop
