"""Aliases: the short names of plugins, by Kafka's rule.

A plugin has two: the simple class name, and that name cut before the last occurrence of its type's word
(``Connector``, ``Converter``, ...), unless nothing would be left. There is one map over all types; an
alias that stands for more than one class is dropped, several versions of one class do not conflict. Case
matters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from hearth.discovery.declaration import Declaration

_SEPARATOR = re.compile(r"[.$:]")


def simple_name(class_name: str) -> str:
    """Return the last part of a class name; of a nested class (``Cast$Value``) that is the inner name."""
    return _SEPARATOR.split(class_name)[-1]


def candidates(declaration: Declaration) -> tuple[str, ...]:
    """Return the aliases a plugin would like: the simple name, and the pruned one where it differs."""
    simple = simple_name(declaration.class_name)
    position = simple.rfind(declaration.type.suffix)
    return (simple, simple[:position]) if position > 0 else (simple,)


def resolve(declarations: Iterable[Declaration]) -> dict[str, str]:
    """Return alias to class name, without the aliases that more than one class would have."""
    wanted: dict[str, set[str]] = {}
    for declaration in declarations:
        for alias in candidates(declaration):
            wanted.setdefault(alias, set()).add(declaration.class_name)
    return {alias: next(iter(classes)) for alias, classes in wanted.items() if len(classes) == 1}
