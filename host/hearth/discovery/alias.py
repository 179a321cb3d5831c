"""Aliases: short plugin names, computed by Kafka's rule.

A plugin has two: its simple class name, and that name pruned at the last occurrence of its type's suffix
(``Connector``, ``Converter``, ...) unless the result is empty. All types share one map. An alias that matches
more than one class is dropped; several versions of one class do not conflict. Aliases are case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hearth.discovery.declaration import Declaration

_SEPARATOR = re.compile(r"[.$:]")


def simple_name(class_name: str) -> str:
    """Return the last part of a class name: the inner name for a nested class (``Cast$Value``)."""
    return _SEPARATOR.split(class_name)[-1]


def candidates(declaration: Declaration) -> tuple[str, ...]:
    """Return the aliases a plugin may get: its simple name, and the pruned name if it differs."""
    simple = simple_name(declaration.class_name)
    position = simple.rfind(declaration.type.suffix)
    return (simple, simple[:position]) if position > 0 else (simple,)


def resolve(declarations: Iterable[Declaration]) -> dict[str, str]:
    """Map aliases to class names, leaving out ambiguous aliases."""
    wanted: dict[str, set[str]] = {}
    for declaration in declarations:
        for alias in candidates(declaration):
            wanted.setdefault(alias, set()).add(declaration.class_name)
    return {alias: next(iter(classes)) for alias, classes in wanted.items() if len(classes) == 1}
