"""Loading: from the reference of an entry point to the class it names."""

from __future__ import annotations

import importlib
from typing import Any

from hearth_api import PluginError


def load_class(reference: str) -> type[Any]:
    """Import ``module:Attribute`` and return the class; raises ``PluginError`` naming what is missing."""
    module, _, attribute = reference.partition(":")
    target: Any = importlib.import_module(module)
    for name in attribute.split("."):
        try:
            target = getattr(target, name)
        except AttributeError:
            raise PluginError(f"module {module!r} has no attribute {attribute!r}") from None
    if not isinstance(target, type):
        raise PluginError(f"{reference!r} is {type(target).__name__}, not a class")
    return target


def version_of(plugin: Any) -> str | None:
    """Return what the plugin says of its version; ``undefined`` when it has none or fails to say."""
    try:
        version = plugin.version()
    except Exception:
        return "undefined"
    return None if version is None else str(version)
