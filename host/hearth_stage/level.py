"""Levels of the log: Kafka Connect's names for them, and the loggers of this process."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

LEVELS = {"ALL": 1, "TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "OFF": 60}
"""The names that log4j has for levels, in Python's numbers; what stands between two of them is Python's own."""
ROOT = "root"
"""The logger above all others."""

_NAMES, _NUMBERS = list(LEVELS), list(LEVELS.values())
_LOWEST, _HIGHEST = _NAMES.index("TRACE"), _NAMES.index("FATAL")


def level_of(number: int) -> str:
    """Return how important a line is: the name of the highest level that it reaches."""
    return _NAMES[min(max(bisect_right(_NUMBERS, number) - 1, _LOWEST), _HIGHEST)]


def threshold_of(number: int) -> str:
    """Return what a logger lets through: the name of the lowest level that it hides nothing of."""
    return _NAMES[min(bisect_left(_NUMBERS, number), len(_NAMES) - 1)]


def loggers() -> dict[str, logging.Logger]:
    """Return the loggers that this process has so far, by name, the root among them."""
    known = logging.root.manager.loggerDict.copy()
    return {ROOT: logging.root} | {name: each for name, each in known.items() if isinstance(each, logging.Logger)}


def set_level(namespace: str, level: str) -> list[str]:
    """Set the level of a logger, made where there is none, and of all whose names begin like its.

    Every one of them gets it, so what was set below it is forgotten. Returns the names of those that had another,
    sorted, as Kafka's ``Loggers`` does; one that is off has none.
    """
    if namespace.lower() == ROOT:
        wanted = loggers()
    else:
        below = {name: each for name, each in loggers().items() if name.startswith(namespace) and name != ROOT}
        wanted = {namespace: logging.getLogger(namespace)} | below
    levels = {name: each.getEffectiveLevel() for name, each in wanted.items()}
    changed = [name for name, before in levels.items() if before != LEVELS[level] or before >= LEVELS["OFF"]]
    for each in wanted.values():
        each.setLevel(LEVELS[level])
    return sorted(changed)


def set_levels(levels: Mapping[str, str]) -> None:
    """Set the levels of namespaces in their order; what nobody knows is left out."""
    for namespace, level in levels.items():
        if level in LEVELS:
            set_level(namespace, level)
