"""Imports pyarrow on first use.

Code that works on batches imports `pyarrow` from here: `from hearth_api.batch import arrow as pa`. So plugins that
work on records do not need pyarrow, and processes that never see a batch, such as a host and its connectors, save its
25 MB.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = frozenset({"compute", "ipc"})
"""Submodules that pyarrow does not import itself."""


def __getattr__(name: str) -> Any:
    """Return an attribute of pyarrow and cache it in this module."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = import_module(f"pyarrow.{name}") if name in _MODULES else getattr(import_module("pyarrow"), name)
    globals()[name] = value
    return value
