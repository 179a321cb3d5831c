"""Prepares the memory of a process for forking, so that its forks share as much of it as possible.

A page is shared until a process writes to it, and Python writes to every object it uses, to count references. So as
few pages as possible should be written: the garbage collector ignores existing objects, cached path finders are
dropped, because their invalidation would write to each, and so are cached look-ups of attributes: each holds a
reference to a name, which a fork would release with its own first look-ups. Gaps are filled: Python reuses the space
of freed objects, so new objects of a fork would be scattered among the shared ones.
"""

from __future__ import annotations

import gc
import sys

_POOL_BYTES = 1 << 14
"""Size of the pools in which Python keeps objects of one size; 48 of them are the header (``obmalloc.c``, 3.10)."""
_SIZES = range(48, 513, 16)
"""Sizes that have pools, except the two that are smaller than a bytes object."""
_MOST_BYTES = 1 << 19
"""Most bytes to fill per size, as another Python may allocate objects differently."""

_fillers: list[bytes] = []
"""Objects that fill the gaps while this process and its forks live."""


def share_memory() -> None:
    """Prepare the memory; call this after loading everything, right before the first fork."""
    sys.path_importer_cache.clear()
    gc.collect()
    _forget_attributes()
    fill_gaps()
    gc.freeze()


def _forget_attributes() -> None:
    """Drop the cached look-ups of attributes; Python 3.13 renamed the function."""
    (getattr(sys, "_clear_internal_caches", None) or sys._clear_type_cache)()


def fill_gaps() -> None:
    """Fill the gaps between existing objects."""
    for size in _SIZES:
        _fill(size)


def _fill(size: int) -> None:
    """Create objects of a size until they fill a whole pool: then no other pool has a gap."""
    together, pool = 0, 0
    for _ in range(_MOST_BYTES // size):
        made = bytes(size - sys.getsizeof(b""))
        _fillers.append(made)
        together, pool = (together + 1 if id(made) // _POOL_BYTES == pool else 1), id(made) // _POOL_BYTES
        if together == (_POOL_BYTES - 48) // size:
            return
