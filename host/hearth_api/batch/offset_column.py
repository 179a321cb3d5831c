"""Source offsets of many records as a column of JSON texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hearth_api.batch import arrow as pa
from hearth_api.batch.column import packed
from hearth_api.batch.record_parts import counted
from hearth_api.java.offset_json import offset_opening, offsets_to_json
from hearth_api.schema import INT64_SCHEMA

_FEW = 256
"""So many are written sooner one by one than by calls of Arrow."""
_BEHIND = 1 << 31
"""A place behind every text that a column can hold."""


def offsets_to_column(offsets: Sequence[Any]) -> Any:
    """Return offsets, None among them, as a column; one that cannot be written raises a DataError."""
    counting = _counting(offsets) if len(offsets) > _FEW else None
    return pa.array(offsets_to_json(offsets), pa.string()) if counting is None else counting


def _counting(offsets: Sequence[Any]) -> Any:
    """Return offsets whose only member is a whole number, as those of nearly every source; None where some are not.

    Arrow writes the digits.
    """
    found = counted(offsets)
    if found is None:
        return None
    name, numbers = found
    positions = packed(INT64_SCHEMA, numbers)
    if positions is None:
        return None
    opened = pa.compute.binary_replace_slice(positions.cast(pa.string()), 0, 0, offset_opening(name))
    return pa.compute.binary_replace_slice(opened, _BEHIND, _BEHIND, "}")
