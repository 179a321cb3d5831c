"""Loading: from the reference of an entry point to its class."""

from __future__ import annotations

import importlib
import threading
from typing import Any

from hearth_api import PluginError

load_lock = threading.RLock()
"""Hold this lock to load modules while other threads may do so.

If two threads load modules that import each other, Python gives one of them a half-initialized module, or both would
deadlock.
"""


def load_module(name: str) -> Any:
    """Import a module, one thread at a time: several tenants may share the process."""
    with load_lock:
        return importlib.import_module(name)


def load_class(reference: str) -> type[Any]:
    """Import ``module:Attribute`` and return the class; raises ``PluginError`` naming what is missing."""
    module, _, attribute = reference.partition(":")
    target = load_module(module)
    for name in attribute.split("."):
        try:
            target = getattr(target, name)
        except AttributeError:
            raise PluginError(f"module {module!r} has no attribute {attribute!r}") from None
    if not isinstance(target, type):
        raise PluginError(f"{reference!r} is {type(target).__name__}, not a class")
    return target


def version_of(plugin: Any) -> str | None:
    """Return the plugin's version; ``undefined`` if its ``version`` method is missing or raises."""
    try:
        version = plugin.version()
    except Exception:
        return "undefined"
    return None if version is None else str(version)
