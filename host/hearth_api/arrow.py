"""Arrow, loaded by the first use of anything of it.

Whatever works on batches takes `pyarrow` from here: `from hearth_api import arrow as pa`. So plugins that work on
records need no pyarrow, and processes that never see a batch, a host and its connectors, are spared its 25 MB.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Return a name of pyarrow's, which is found here without this function from then on."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import pyarrow as pa

    value = globals()[name] = getattr(pa, name)
    return value
