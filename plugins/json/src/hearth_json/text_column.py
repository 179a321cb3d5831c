"""Escapes and scatters columns of JSON string contents without a loop over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hearth_api.layout import memory, replaced, rows_of
from hearth_json.literal import escape


def scatter(texts: Any, column: Any, null_text: bytes) -> Any:
    """Return one text per row of a column with nulls, from the texts of its non-null rows."""
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(valid) - 1, pa.int64(), mask=~valid)
    return pc.fill_null(texts.take(places), pa.scalar(null_text, pa.binary()))


def escaped(column: Any) -> Any:
    """Escape texts for use between the quotes of JSON strings; most columns need no change."""
    content, offsets = memory(column)
    if len(content) == 0:
        return column
    raw = content.tobytes()
    has_quote, has_backslash = b'"' in raw, b"\\" in raw
    # Bytes from 0xF0 start the characters that Jackson writes as two escaped surrogates.
    if content.min() < 0x20 or content.max() >= 0xF0:
        odd = (content < 0x20) | (content >= 0xF0) | (content == 0x22) | (content == 0x5C)
        return replaced(column, rows_of(np.flatnonzero(odd), offsets), escape)
    if has_backslash:
        column = pc.replace_substring(column, "\\", "\\\\")
    return pc.replace_substring(column, '"', '\\"') if has_quote else column
