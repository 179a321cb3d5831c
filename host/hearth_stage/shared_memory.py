"""The memory of a process from which others are forked, so that they share as much of it as they can.

A page is shared until one of them writes to it, and Python writes wherever it looks: it counts references. What can be
done is to write to few pages. The collector is told to leave alone what there is, finders of modules are forgotten,
for each would be told to look anew, and gaps are filled: Python puts a new object where one was freed, so what a
forked process makes would lie here and there between what it shares.
"""

from __future__ import annotations

import gc
import sys

_POOL_BYTES = 1 << 14
"""Python keeps objects of one size in pools of so many bytes, whose head takes 48 (``obmalloc.c``, since 3.10)."""
_SIZES = range(48, 513, 16)
"""The sizes that have pools, but for the two that bytes are too large for."""
_MOST_BYTES = 1 << 19
"""So much at most is filled for one size: another Python may keep its objects otherwise."""

_fillers: list[bytes] = []
"""What fills gaps, as long as this process and those that are forked from it live."""


def share_memory() -> None:
    """Do what can be done; called when everything is loaded, right before the first fork."""
    sys.path_importer_cache.clear()
    gc.collect()
    fill_gaps()
    gc.freeze()


def fill_gaps() -> None:
    """Fill the gaps between the objects that there are."""
    for size in _SIZES:
        _fill(size)


def _fill(size: int) -> None:
    """Make objects of a size until they have a whole pool for themselves: no other had room for one."""
    together, pool = 0, 0
    for _ in range(_MOST_BYTES // size):
        made = bytes(size - sys.getsizeof(b""))
        _fillers.append(made)
        together, pool = (together + 1 if id(made) // _POOL_BYTES == pool else 1), id(made) // _POOL_BYTES
        if together == (_POOL_BYTES - 48) // size:
            return
