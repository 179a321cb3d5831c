"""Checks the nesting depth of JSON: Jackson neither reads nor writes more than a thousand levels."""

from __future__ import annotations

import re

MOST_LEVELS = 1000
NOT_WRITTEN = "Converting Kafka Connect data to byte[] failed due to serialization error: "
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[{\]}]', re.DOTALL)


def is_too_deep(text: str, start: int = 0) -> bool:
    """Return whether the array or object at `start` has more levels than Jackson allows."""
    if len(text) - start <= MOST_LEVELS or text[start] not in "[{":
        return False
    if text.count("[", start) + text.count("{", start) <= MOST_LEVELS:
        return False
    level = 0
    for found in _TOKEN.finditer(text, start):
        first = text[found.start()]
        if first in "[{":
            level += 1
            if level > MOST_LEVELS:
                return True
        elif first != '"':
            level -= 1
            if level == 0:
                return False
    return False


def too_deep(act: str) -> ValueError:
    """Return Jackson's error for JSON that is nested too deep to `Read` or `Write`."""
    return ValueError(
        f"Document nesting depth ({MOST_LEVELS + 1}) exceeds the maximum allowed ({MOST_LEVELS}, from "
        f"`Stream{act}Constraints.getMaxNestingDepth()`)"
    )
