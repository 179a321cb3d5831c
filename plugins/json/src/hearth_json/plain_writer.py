"""Converts the API's JSON texts of columns without schema to the JSON that Kafka Connect writes.

The two differ only for tagged values, floats with an exponent or many digits, and strings with control characters or
characters beyond the Basic Multilingual Plane. All other texts are passed through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.compute as pc

from hearth_api.batch import plain_from_json
from hearth_api.layout import memory, replaced
from hearth_json.scan import may_hold_odd_number
from hearth_json.value_writer import ValueWriter

# A number that Java may format differently, an integer that may not fit 64 bits, a tag, an escaped control
# character, a character of four bytes. A match inside a string only costs time.
_ODD = (
    r"(?:^|[:,\[])-?(?:[0-9]+(?:\.[0-9]+)?[eE]|[0-9]{8,}\.|0\.000|[0-9]{19})"
    r'|\{"@|\\u|[\x{10000}-\x{10FFFF}]'
)


def plain_texts(values: ValueWriter, column: Any) -> Any:
    """Return Kafka Connect's JSON texts for a column without schema; nulls stay null."""
    content, _ = memory(column)
    if len(content) == 0 or not (_may_be_escaped(content) or may_hold_odd_number(content)):
        return column
    odd = pc.fill_null(pc.match_substring_regex(column, _ODD), False).to_numpy(zero_copy_only=False)
    return replaced(column, np.flatnonzero(odd), lambda text: values.text(None, plain_from_json(text)))


def _may_be_escaped(content: Any) -> bool:
    raw = content.tobytes()
    return bool(content.max() >= 0xF0) or (b"\\" in raw and b"\\u" in raw)
