"""Log levels: Kafka Connect's names for them, and the loggers of this process."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Mapping

LEVELS = {"ALL": 1, "TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "OFF": 60}
"""log4j's level names with Python's numbers; numbers in between are Python's own."""
ROOT = "root"
"""Name of the root logger."""

_NAMES, _NUMBERS = list(LEVELS), list(LEVELS.values())
_LOWEST, _HIGHEST = _NAMES.index("TRACE"), _NAMES.index("FATAL")


def level_of(number: int) -> str:
    """Return the level of a log record: the name of the highest level that it reaches."""
    return _NAMES[min(max(bisect_right(_NUMBERS, number) - 1, _LOWEST), _HIGHEST)]


def threshold_of(number: int) -> str:
    """Return the threshold of a logger: the name of the lowest level that it logs completely."""
    return _NAMES[min(bisect_left(_NUMBERS, number), len(_NAMES) - 1)]


def loggers() -> dict[str, logging.Logger]:
    """Return all current loggers of this process by name, including the root."""
    known = logging.root.manager.loggerDict.copy()
    return {ROOT: logging.root} | {name: each for name, each in known.items() if isinstance(each, logging.Logger)}


def set_level(namespace: str, level: str) -> list[str]:
    """Set the level of a logger, which is created if needed, and of all whose names start with its name.

    This overrides levels set below it. Returns the sorted names of the loggers that had another level, as Kafka's
    ``Loggers`` does; a logger that is OFF counts as having none.
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
    """Set the levels of namespaces in order; ignores unknown levels."""
    for namespace, level in levels.items():
        if level in LEVELS:
            set_level(namespace, level)
