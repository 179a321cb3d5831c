"""Plugins that are installed with the host: Kafka's class path."""

from __future__ import annotations

import importlib_metadata

from hearth.discovery.metadata import declared
from hearth.discovery.plugin import Declaration


def installed_declarations() -> list[Declaration]:
    """Return the plugins that distributions on the host's own ``sys.path`` declare."""
    found: dict[str, Declaration] = {}
    for distribution in importlib_metadata.distributions():
        points = distribution.read_text("entry_points.txt")
        if points and "[hearth." in points:
            for declaration in declared(points, distribution.version)[0]:
                # The first distribution on sys.path is the one that imports will find.
                found.setdefault(f"{declaration.type}:{declaration.class_name}", declaration)
    return list(found.values())
