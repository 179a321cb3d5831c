"""The processes beside the host in which connectors live and plugins are asked: one for each environment, mostly."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from hearth.discovery import Plugin
from hearth.herder.plugin.stage import LET_DOWN, PluginProcess, PluginStage
from hearth.herder.plugin.staged_connector import StagedConnector
from hearth.herder.queue import is_interrupted
from hearth.herder.sharing_history import SharingHistory
from hearth.isolation.environment import Environment
from hearth.isolation.shared_stage import ProcessFull, SharedStages

log = logging.getLogger(__name__)

IDLE_SECONDS = 10.0
"""How long a process that nobody shares any more waits: who validates a configuration mostly starts its connector."""
AGAIN_SECONDS = 25.0
"""How long a question may take that is asked again: REST gives a request 90 seconds, and the first has had 60."""

T = TypeVar("T")


class StagePool:
    """Lets who asks plugins of an environment in where all do that, or into a process of his own."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._processes = SharedStages(lambda environment, name: PluginProcess(environment, name, idle_seconds))
        self._unsociable: set[tuple[Environment, str]] = set()
        """Plugins that let down who had asked them alone: they are asked no other way from now on."""

    def take(
        self, plugin: Plugin, environment: Environment, seconds: float, sharing_history: SharingHistory
    ) -> StagedConnector:
        """Return a new instance of a connector, each call of which may take so long."""

        def enter(is_apart: bool, *heard: Callable[..., Any]) -> PluginStage:
            return self._enter(environment, plugin.class_name, is_apart, *heard)

        return StagedConnector(plugin, seconds, sharing_history, enter)

    def ask(
        self,
        plugin: Plugin,
        environment: Environment,
        seconds: float,
        question: Callable[[PluginStage, float], T],
        is_apart: bool = False,
    ) -> T:
        """Return what a plugin answers within so many seconds, its question asked in a process and then gone.

        Where a process that others share lets the question down, it is asked once more in one of its own.
        """
        name = environment, plugin.class_name
        is_apart = is_apart or name in self._unsociable
        stage = self._enter(environment, plugin.class_name, is_apart)
        is_apart = not stage.is_shared
        try:
            return question(stage, seconds)
        except LET_DOWN:
            if is_apart:
                self._unsociable.add(name)
            if is_apart or is_interrupted():
                raise
            log.warning("%s is asked once more, in a process of its own: it had no answer", plugin.class_name)
        finally:
            stage.close()
        return self.ask(plugin, environment, min(seconds, AGAIN_SECONDS), question, is_apart=True)

    def close(self) -> None:
        """End all processes, also one whose connector hangs in a call."""
        self._processes.close()

    def _enter(self, environment: Environment, name: str, is_apart: bool, *heard: Callable[..., Any]) -> PluginStage:
        if is_apart:
            return PluginStage(self._processes.keep(PluginProcess(environment, name)), *heard)
        while True:
            process = self._processes.open(environment, name)
            with contextlib.suppress(ProcessFull):
                return PluginStage(process, *heard)
