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
_WORD = r"^([A-Za-z_/]|[0-9+-][0-9A-Za-z._]*[A-DF-Za-df-z_][0-9A-Za-z._]*$)"
"""Texts that begin with a letter, or as numbers do and have a letter that no number has, and nothing of a time."""
_LONG_WORD = r"^[0-9+-][0-9A-Za-z._-]*[A-DF-Za-df-z_][0-9A-Za-z._-]*$"
"""The same with a dash, as UUIDs have: no number either, and no date or time where it is longer than these."""
_LONGEST_TIME = 24
_LITERAL = r"^(true|false|null)[\x00-\x20]*$"


def are_words(column: Any) -> bool:
    """Tell whether each text of a column is one that Kafka Connect reads as just this text; `False` means perhaps."""
    if column.null_count or not (_begin_with_letters(column) or _are_long_words(column)):
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


def _are_long_words(column: Any) -> bool:
    is_word = pc.match_substring_regex(column, _WORD)
    is_long = pc.greater(pc.binary_length(column), pa.scalar(_LONGEST_TIME, pa.int32()))
    is_word = pc.or_(is_word, pc.and_(is_long, pc.match_substring_regex(column, _LONG_WORD)))
    return bool(pc.all(is_word, min_count=0).as_py())
