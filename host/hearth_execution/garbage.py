"""Garbage collection: how often Python searches for reference cycles."""

from __future__ import annotations

import gc

_MORE = 20_000
"""Threshold of new objects for a search; Python's default is 700.

The records of one poll or put, and the errors of failed ones, are some thousand objects that live until it ends and
form no cycles.
"""


def collect_seldom() -> None:
    """Make the process search for cycles less often than Python does."""
    gc.set_threshold(_MORE)
