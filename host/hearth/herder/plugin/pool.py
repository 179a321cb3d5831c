"""The processes beside the host in which connectors live and plugins are asked: one for each environment, mostly."""

from __future__ import annotations

import contextlib
import logging
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from hearth.discovery import Plugin
from hearth.herder.plugin.stage import LET_DOWN, PluginProcess, PluginStage, ProcessFull
from hearth.herder.plugin.staged_connector import Conduct, StagedConnector
from hearth.herder.queue import is_interrupted
from hearth.isolation.environment import Environment
from hearth_api import ConnectError

log = logging.getLogger(__name__)

IDLE_SECONDS = 10.0
"""How long a process that nobody shares any more waits: who validates a configuration mostly starts its connector."""
AGAIN_SECONDS = 25.0
"""How long a question may take that is asked again: REST gives a request 90 seconds, and the first has had 60."""

T = TypeVar("T")


class StagePool:
    """Lets who asks plugins of an environment in where all do that, or into a process of his own."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._shared: dict[Environment, Future[PluginProcess]] = {}
        self._made: weakref.WeakSet[PluginProcess] = weakref.WeakSet()
        self._unsociable: set[tuple[Environment, str]] = set()
        """Plugins that let down who had asked them alone: they are asked no other way from now on."""
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self, plugin: Plugin, environment: Environment, seconds: float, conduct: Conduct) -> StagedConnector:
        """Return a new instance of a connector, each call of which may take so long."""

        def enter(is_apart: bool, *heard: Callable[..., Any]) -> PluginStage:
            return self._enter(environment, plugin.class_name, is_apart, *heard)

        return StagedConnector(plugin, seconds, conduct, enter)

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
        with self._lock:
            self._is_closed = True
            made = list(self._made)
        if made:
            with ThreadPoolExecutor(len(made), thread_name_prefix="close") as threads:
                for process in made:
                    threads.submit(process.close)

    def _enter(self, environment: Environment, name: str, is_apart: bool, *heard: Callable[..., Any]) -> PluginStage:
        if is_apart:
            return PluginStage(self._keep(PluginProcess(environment, name)), *heard)
        while True:
            process = self._open(environment, name)
            with contextlib.suppress(ProcessFull):
                return PluginStage(process, *heard)

    def _open(self, environment: Environment, name: str) -> PluginProcess:
        """Return the process that is shared by all of an environment, started anew where it takes nobody any more."""
        with self._lock:
            known = self._shared.get(environment)
            is_new = known is None or (known.done() and (known.exception() or not known.result().has_room))
            if known is None or is_new:
                known = self._shared[environment] = Future()
        if is_new:
            try:
                process = PluginProcess(environment, environment.bundle or name, self._idle_seconds)
                known.set_result(self._keep(process))
            except BaseException as error:  # noqa: BLE001 - whoever waits for the process hears of it
                known.set_exception(error)
        return known.result()

    def _keep(self, process: PluginProcess) -> PluginProcess:
        with self._lock:
            self._made.add(process)
            if not self._is_closed:
                return process
        process.close()  # nobody would end it
        raise ConnectError("the host is stopping", code="host.stopping")
