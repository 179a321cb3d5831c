"""A plugin's process that lives as long as the host and is restarted if it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from hearth.herder.plugin.stage import PluginStage
from hearth_api import PluginError
from hearth_execution.failure import RemoteError

S = TypeVar("S", bound=PluginStage)
T = TypeVar("T")


class KeptStage(Generic[S]):
    """The long-lived process of one configured plugin, which can cache what it fetches. Thread-safe.

    After the process ends or misses a deadline, the next call starts another.
    """

    def __init__(self, begin: Callable[[], S]) -> None:
        """``begin`` starts the process and configures the plugin in it."""
        self._begin = begin
        self._lock = threading.Lock()
        self._stage: S | None = None

    def ready(self) -> S:
        """Return the process; start one if none is alive."""
        with self._lock:
            if self._stage is None or not self._stage.is_alive:
                self._stage = self._begin()
            return self._stage

    def ask(self, question: Callable[[S], T]) -> T:
        """Return the plugin's answer; raise its error, or the reason why its process ended."""
        stage = self.ready()
        try:
            return question(stage)
        except PluginError as error:
            if not isinstance(error, RemoteError):
                stage.close()
            raise

    def close(self) -> None:
        """End the process, which closes the plugin."""
        with self._lock:
            stage, self._stage = self._stage, None
        if stage is not None:
            stage.close()
