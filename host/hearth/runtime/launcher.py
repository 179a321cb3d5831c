"""The launcher: what puts a task somewhere to run. Spark is one; tests bring another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from hearth.runtime.spec import TaskSpec


@dataclass(frozen=True)
class TaskEnd:
    """A task's run is over; ``error`` says why when it was not the task's own end."""

    connector: str
    task: int
    generation: int
    error: str | None = None


class Launcher(Protocol):
    """Runs tasks. Every method may be called from any thread and returns at once."""

    def start(self) -> None:
        """Begin to warm up; tasks launched before it is done wait."""

    def launch(self, spec: TaskSpec, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task; ``on_end`` is called once, on another thread, when its run is over."""

    def cancel(self, connector: str, task: int) -> None:
        """End a task's run by force; does nothing when it is not running."""

    def stop(self) -> None:
        """End everything that runs and free what it runs on."""
