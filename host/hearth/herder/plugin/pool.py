"""The child processes in which connectors run and plugins are called, usually one for each environment."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from hearth.discovery import Plugin
from hearth.herder.plugin.stage import PROCESS_FAILURES, PluginProcess, PluginStage
from hearth.herder.plugin.staged_connector import StagedConnector
from hearth.herder.queue import is_interrupted
from hearth.herder.sharing_history import SharingHistory
from hearth.isolation.environment import Environment
from hearth.isolation.shared_stage import ProcessFull, SharedStages

log = logging.getLogger(__name__)

VERSION_SECONDS = 5.0
"""Longest wait for the version of a plugin."""
IDLE_SECONDS = 10.0
"""Idle time before an unused process ends; a connector is usually started soon after it was validated."""
AGAIN_SECONDS = 25.0
"""Time limit for a repeated question: REST allows a request 90 seconds, and the first attempt had 60."""

T = TypeVar("T")


class StagePool:
    """Places callers of plugins in the shared process of an environment, or in one of their own."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._processes = SharedStages(lambda environment, name: PluginProcess(environment, name, idle_seconds))
        self._needs_own_process: set[tuple[Environment, str]] = set()
        """Plugins that broke a process of their own; from now on they are always called in one of their own."""

    def take(
        self, plugin: Plugin, environment: Environment, seconds: float, sharing_history: SharingHistory
    ) -> StagedConnector:
        """Return a new instance of a connector; ``seconds`` limits each of its calls."""

        def enter(is_apart: bool, *listeners: Callable[..., Any]) -> PluginStage:
            return self._enter(environment, plugin.class_name, is_apart, *listeners)

        return StagedConnector(plugin, seconds, sharing_history, enter)

    def ask(
        self,
        plugin: Plugin,
        environment: Environment,
        seconds: float,
        question: Callable[[PluginStage, float], T],
        is_apart: bool = False,
    ) -> T:
        """Return a plugin's answer to one question within ``seconds``.

        If a shared process fails the question, it is asked once more in a process of its own.
        """
        name = environment, plugin.class_name
        is_apart = is_apart or name in self._needs_own_process
        stage = self._enter(environment, plugin.class_name, is_apart)
        is_apart = not stage.is_shared
        try:
            answer = question(stage, seconds)
            _keep_versions(plugin, stage)
            return answer
        except PROCESS_FAILURES:
            if is_apart:
                self._needs_own_process.add(name)
            if is_apart or is_interrupted():
                raise
            log.warning("%s gave no answer: asking it again in its own process", plugin.class_name)
        finally:
            stage.close()
        return self.ask(plugin, environment, min(seconds, AGAIN_SECONDS), question, is_apart=True)

    def close(self) -> None:
        """End all processes, even those whose connector hangs in a call."""
        self._processes.close()

    def _enter(
        self, environment: Environment, name: str, is_apart: bool, *listeners: Callable[..., Any]
    ) -> PluginStage:
        if is_apart:
            return PluginStage(self._processes.keep(PluginProcess(environment, name)), *listeners)
        while True:
            process = self._processes.open(environment, name)
            with contextlib.suppress(ProcessFull):
                return PluginStage(process, *listeners)


def _keep_versions(plugin: Plugin, stage: PluginStage) -> None:
    """Ask all plugins of the bundle for a version that only they can say; most bundles have none."""
    if plugin.bundle is not None and plugin.bundle.undescribed:
        from hearth.packaging.description import describe_versions  # rarely needed

        describe_versions(plugin.bundle, lambda call: stage.call(call, VERSION_SECONDS))
