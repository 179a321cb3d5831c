"""The launcher: what puts a task somewhere to run. Spark is one; tests bring another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

from hearth.link.admission import LinkAddress
from hearth.runtime.plan import TaskPlan


@dataclass(frozen=True)
class RunLoss:
    """Why a run ended although nobody stopped it and its task did not fail, so that it is to begin anew.

    ``was_shared`` where a process has ended that it shared with others, nobody knows by whose doing; ``is_suspect``
    where such a process let this run down, which may be its own doing.
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
    """What a launcher carries to where a task runs: which run it is, and how it finds and enters its host.

    Everything else, settings and secrets above all, the host tells whom it has let in. ``shares`` is with whom it
    shares its processes: all on an executor that say the same; nobody where it says nothing.
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
    """A task's run is over; ``loss`` says why when it was not the task's own end."""

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
        """Begin to warm up; tasks launched before it is done wait."""

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task; ``on_end`` is called once, on another thread, when its run is over.

        The plan stays here, but for the environments that it names.
        """

    def has_begun(self, connector: str, task: int) -> None:
        """Take note that a task's run has begun, as it has said itself."""

    def cancel(self, connector: str, task: int) -> None:
        """End a task's run by force; does nothing when it is not running."""

    def stop(self) -> None:
        """End everything that runs and free what it runs on."""
