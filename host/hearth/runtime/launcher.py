"""The launcher places tasks where they run. Spark is one implementation; tests have another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

from hearth.link.admission import LinkAddress
from hearth.runtime.plan import TaskPlan


@dataclass(frozen=True)
class RunLoss:
    """Why a run ended without being stopped and without a failure of its task, so that it restarts.

    ``was_shared``: a process that it shared with other tasks ended, and any of them may be the cause. ``is_suspect``:
    such a process failed during this run, which may be the cause.
    """

    reason: str
    was_shared: bool = False
    is_suspect: bool = False

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RunLoss:
        """Read what ``to_json`` wrote."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class TaskLaunch:
    """What a launcher sends to the executor: which run to start, and how to reach and authenticate to the host.

    The host sends everything else, secrets included, after authentication. ``shares`` names the group of tasks that
    share a process on an executor; empty for none.
    """

    connector: str
    task: int
    generation: int
    link: LinkAddress
    shares: str = ""

    @property
    def name(self) -> str:
        """Return the task's name, as Kafka Connect writes it: ``connector-0``."""
        return f"{self.connector}-{self.task}"

    def to_json(self) -> str:
        """Return it as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TaskLaunch:
        """Read what ``to_json`` wrote."""
        members = json.loads(text)
        return cls(**{**members, "link": LinkAddress(**members["link"])})


@dataclass(frozen=True)
class TaskEnd:
    """A task's run ended; ``loss`` is set when neither a stop nor the task itself ended it."""

    connector: str
    task: int
    generation: int
    loss: RunLoss | None = None

    @property
    def reason(self) -> str | None:
        """Return the reason of the loss."""
        return None if self.loss is None else self.loss.reason


class Launcher(Protocol):
    """Runs tasks. Every method may be called from any thread and returns at once."""

    def start(self) -> None:
        """Start to warm up; tasks launched before that is done wait."""

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task; ``on_end`` is called once, on another thread, when its run ends.

        Only the environments that the plan names are sent to the executor.
        """

    def has_begun(self, connector: str, task: int) -> None:
        """Note that a task's run has started, as the task reported."""

    def cancel(self, connector: str, task: int) -> None:
        """Kill a task's run; does nothing when it is not running."""

    def stop(self) -> None:
        """Stop all tasks and release their resources."""
