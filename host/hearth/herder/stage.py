"""A connector in a process of its own, every call with a deadline."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Protocol

from hearth.discovery import Plugin
from hearth.isolation.environment import Environment
from hearth.isolation.stage import Stage
from hearth_api import ConnectError, PluginError

CALL_SECONDS = 60.0
STOP_SECONDS = 5.0
IDLE_SECONDS = 10.0


class StageListener(Protocol):
    """Hears what a running connector says by itself, on the stage's own thread: it must return at once."""

    def on_task_reconfiguration(self) -> None:
        """The connector wants to be asked for its task configurations again."""

    def on_error(self, trace: str) -> None:
        """The connector cannot go on, or its process has ended."""

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the committed offsets of source partitions."""


class ConnectorStage:
    """An instance of a connector class; not running until it is started, and again after it is stopped.

    Invariant 6: the connector's code is never imported here. The process ends with `close`, whatever the
    plugin does, and with the host.
    """

    def __init__(self, plugin: Plugin, environment: Environment) -> None:
        self.plugin = plugin
        self._listener: StageListener | None = None
        self._is_closed = False
        self._is_started = False
        self._stage = Stage.start(environment, plugin.class_name, self._answer, self._on_death)
        try:
            self.version: str | None = self._call("connector.load", {"python": plugin.python})["version"]
        except PluginError:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._is_closed and self._stage.is_alive

    def validate(self, config: Mapping[str, str | None]) -> tuple[list[Any] | None, list[Any] | None]:
        """Return the connector's key definitions and what it says of the values; None for what it refuses to say."""
        reply = self._call("connector.validate", {"config": dict(config)})
        return reply["definitions"], reply["values"]

    def definitions(self) -> list[Any]:
        """Return the connector's key definitions."""
        return list(self._call("connector.config", {})["config"] or [])

    def start(self, config: Mapping[str, str], listener: StageListener) -> None:
        """Start the connector; from now on its listener hears what it says."""
        self._listener = listener
        self._is_started = True  # also one that fails half-way is stopped
        self._call("connector.start", {"config": dict(config)})

    def task_configs(self, maximum: int) -> tuple[list[dict[str, str]], str | None]:
        """Return the configurations of the connector's tasks and the name of their class."""
        reply = self._call("connector.task_configs", {"max": maximum})
        return list(reply["configs"]), reply.get("task_class")

    def stop(self) -> None:
        """Stop the connector, if it is started, and keep the instance."""
        self._listener = None
        if self._is_started and self.is_alive:
            self._is_started = False
            self._call("connector.stop", {}, STOP_SECONDS)

    def end(self) -> None:
        """Stop the connector and end its process; PluginError tells what went wrong with the first of the two."""
        try:
            self.stop()
        finally:
            self.close()

    def close(self) -> None:
        """End the process."""
        self._is_closed = True
        self._listener = None
        with contextlib.suppress(OSError):
            self._stage.close()

    def _call(self, op: str, args: dict[str, Any], timeout: float = CALL_SECONDS) -> dict[str, Any]:
        return dict(self._stage.call(op, args, timeout=timeout).args)

    def _answer(self, op: str, args: dict[str, Any]) -> dict[str, Any]:
        listener = self._listener
        if listener is None:
            raise ConnectError(f"the connector is not running, so {op!r} has no meaning")
        if op == "task_reconfiguration":
            listener.on_task_reconfiguration()
        elif op == "raise_error":
            listener.on_error(args.get("trace") or args["message"])
        elif op == "offsets.read":
            return {"offsets": listener.read_offsets(args["partitions"])}
        else:
            raise LookupError(f"a connector has no request {op!r}")
        return {}

    def _on_death(self) -> None:
        listener = self._listener
        if listener is not None and not self._is_closed:
            # Waiting for the process's last words takes a moment; the stage's reader thread is not to be held up.
            threading.Thread(target=lambda: listener.on_error(trace_of(self._stage.died())), daemon=True).start()


class StagePool:
    """Keeps an idle connector process for a moment, because who validates a configuration mostly starts it next."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._idle: list[ConnectorStage] = []
        self._made: weakref.WeakSet[ConnectorStage] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._is_closed = False

    def take(self, plugin: Plugin, environment: Environment) -> ConnectorStage:
        """Return an instance of the connector, started anew unless one is idle."""
        with self._lock:
            for stage in self._idle:
                if stage.plugin == plugin and stage.is_alive:
                    self._idle.remove(stage)
                    return stage
        stage = ConnectorStage(plugin, environment)
        with self._lock:
            self._made.add(stage)
        return stage

    def give(self, stage: ConnectorStage) -> None:
        """Take back an instance that was never started."""
        with self._lock:
            if not self._is_closed and stage.is_alive:
                self._idle.append(stage)
                timer = threading.Timer(self._idle_seconds, self._expire, [stage])
                timer.daemon = True
                timer.start()
                return
        stage.close()

    def close(self) -> None:
        """End all processes, also one whose connector hangs in a call."""
        with self._lock:
            self._is_closed = True
            made = list(self._made)
            self._idle.clear()
        for stage in made:
            stage.close()

    def _expire(self, stage: ConnectorStage) -> None:
        with self._lock:
            if stage not in self._idle:
                return
            self._idle.remove(stage)
        stage.close()


def trace_of(error: BaseException) -> str:
    """Return what a status shows of an error: the plugin's own trace where there is one."""
    trace = getattr(error, "trace", None)
    if trace:
        return str(trace)
    hint = getattr(error, "hint", None)
    return f"{type(error).__name__}: {error}" + (f"\n{hint}" if hint else "")
