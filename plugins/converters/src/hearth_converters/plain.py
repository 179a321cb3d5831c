"""Columns as texts, where that is possible without looking at single values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def bare_texts(column: Any) -> Any:
    """Return what a column of JSON strings without escapes holds, as bytes; for any other, `NotImplemented`."""
    if not pc.all(pc.starts_with(column, pattern='"'), min_count=0).as_py():
        return NotImplemented
    if pc.any(pc.match_substring(column, "\\")).as_py():
        return NotImplemented
    return pc.binary_slice(column.cast(pa.binary()), 1, -1)


_LETTERS = np.isin(np.arange(256), np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_/", np.uint8))
_LITERAL = r"^(true|false|null)[\x00-\x20]*$"


def are_words(column: Any) -> bool:
    """Tell whether each text of a column is one that Kafka Connect reads as just this text; `False` means perhaps."""
    if column.null_count or not _begin_with_letters(column):
        return False
    may_be_literal = any(pc.any(pc.starts_with(column, pattern=word)).as_py() for word in ("true", "false", "null"))
    return not (may_be_literal and pc.any(pc.match_substring_regex(column, _LITERAL)).as_py())


def _begin_with_letters(column: Any) -> bool:
    """Tell it of the first bytes alone, which is ten times faster than any pattern."""
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = column.buffers()[2]
    if data is None or (ends[1:] == ends[:-1]).any():
        return False
    return bool(_LETTERS[np.frombuffer(data, np.uint8)[ends[:-1]]].all())
