"""Garbage: how often Python looks for objects that hold each other."""

from __future__ import annotations

import gc

_MORE = 20_000
"""So many objects more than were freed have Python look for cycles of them; usually it does at 700.

The records of one poll or put, and the errors of those that failed, are some thousand objects, all of which live until
it is over, and have no cycles.
"""


def collect_seldom() -> None:
    """Have the process look for cycles less often than Python does."""
    gc.set_threshold(_MORE)
