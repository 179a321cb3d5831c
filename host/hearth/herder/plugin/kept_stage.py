"""A plugin's process that is kept for as long as the host lives, and started anew where it has ended."""

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
    """The process of one configured plugin, so that it may keep what it has fetched; used from any thread.

    One that ended, or did not answer in time, is followed by another when the plugin is asked next.
    """

    def __init__(self, begin: Callable[[], S]) -> None:
        """``begin`` starts the process and has the plugin configured there."""
        self._begin = begin
        self._lock = threading.Lock()
        self._stage: S | None = None

    def ready(self) -> S:
        """Return the process, after starting one where there is none."""
        with self._lock:
            if self._stage is None or not self._stage.is_alive:
                self._stage = self._begin()
            return self._stage

    def ask(self, question: Callable[[S], T]) -> T:
        """Return the plugin's answer; what it raises is raised, and the end of its process."""
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
