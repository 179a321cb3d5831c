"""Columns without schema as texts, where that is possible without looking at single values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def bare_texts(column: Any) -> Any:
    """Return what a column of JSON strings without escapes holds, as bytes; for any other, `NotImplemented`."""
    if not pc.all(pc.starts_with(column, pattern='"'), min_count=0).as_py():
        return NotImplemented
    if pc.any(pc.match_substring(column, "\\")).as_py():
        return NotImplemented
    return pc.binary_slice(column.cast(pa.binary()), 1, -1)
