"""Arrow, loaded by the first use of anything of it.

Whatever works on batches takes `pyarrow` from here: `from hearth_api.batch import arrow as pa`. So plugins that work
on records need no pyarrow, and processes that never see a batch, a host and its connectors, are spared its 25 MB.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = frozenset({"compute", "ipc"})
"""What belongs to Arrow and is not loaded with it."""


def __getattr__(name: str) -> Any:
    """Return a name of pyarrow's, which is found here without this function from then on."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = import_module(f"pyarrow.{name}") if name in _MODULES else getattr(import_module("pyarrow"), name)
    globals()[name] = value
    return value
