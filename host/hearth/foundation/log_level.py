"""The log levels of this process and of every process that it starts or that runs for it."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Protocol

from hearth_stage.level import ROOT, loggers, set_level, set_levels, threshold_of

Rules = Mapping[str, str]
"""The level of each namespace, with log4j's names, in the order in which they were set."""


class LevelListener(Protocol):
    """One or more processes that log to this process's log."""

    def on_levels(self, rules: Rules) -> None:
        """Set these levels there, without blocking."""


class Levels:
    """The levels of the log, with the rules of Kafka's ``Loggers``; levels that were never set are Python's.

    A level applies to a namespace: to the logger of this name and to all whose names start with it, including
    loggers of other processes and loggers that are created later.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._rules: dict[str, str] = {}
        self._changed: dict[str, int] = {}
        self._listeners: weakref.WeakSet[LevelListener] = weakref.WeakSet()

    @property
    def rules(self) -> dict[str, str]:
        """Return the levels that were set, for a process that starts."""
        return dict(self._rules)

    def set(self, namespace: str, level: str) -> list[str]:
        """Set a level here and in all listeners; returns the changed loggers of this process, sorted."""
        if namespace.lower() == ROOT:
            namespace = ROOT
        with self._lock:
            changed = set_level(namespace, level)
            self._changed |= dict.fromkeys(changed, int(self._clock() * 1000))
            kept = {} if namespace == ROOT else self._rules
            self._rules = {name: each for name, each in kept.items() if not name.startswith(namespace)}
            self._rules[namespace] = level
        self._notify_all()
        return changed

    def take(self, rules: Rules) -> None:
        """Adopt the levels of the process that this one runs for."""
        with self._lock:
            if dict(rules) == self._rules:
                return
            self._rules = dict(rules)
            set_levels(rules)
        self._notify_all()

    def subscribe(self, listener: LevelListener) -> None:
        """Notify a listener of the present and all later levels, as long as it lives."""
        self._listeners.add(listener)
        if self._rules:
            listener.on_levels(self.rules)

    def find(self, name: str) -> dict[str, str | int | None] | None:
        """Return the level of a logger and when it was set (ms since 1970), as in Kafka Connect's ``LoggerLevel``."""
        return self.all().get(ROOT if name.lower() == ROOT else name)

    def all(self) -> dict[str, dict[str, str | int | None]]:
        """Return the effective levels of all loggers, sorted by name."""
        return {
            name: {"level": threshold_of(each.getEffectiveLevel()), "last_modified": self._changed.get(name)}
            for name, each in sorted(loggers().items())
        }

    def _notify_all(self) -> None:
        for listener in list(self._listeners):
            listener.on_levels(self.rules)


levels = Levels()
"""The levels of this process."""
