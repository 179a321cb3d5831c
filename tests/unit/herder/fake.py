"""A launcher and link that record their calls, and let a test end tasks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.config import DistributedConfig, WorkerConfig
from hearth.config.variable import Variables
from hearth.discovery import Plugin
from hearth.herder.herder import Herder
from hearth.herder.leader_services import LeaderServices
from hearth.herder.planner import Planner
from hearth.herder.plugin.pool import StagePool
from hearth.herder.status import StatusBoard
from hearth.herder.supervisor import Supervisor
from hearth.herder.task_link import TaskEvent
from hearth.herder.task_restart import RestartTimer, run_later
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.link.admission import LinkAddress
from hearth.link.link_call import COMMANDS, ENDS
from hearth.runtime.launcher import RunLoss, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.storage import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore, State
from tests.timeouts import TIMEOUT, eventually
from tests.unit.herder.catalogue import WORKER, directory


@dataclass(frozen=True)
class Run:
    """A run of a task: the host's data for it, and Spark's."""

    plan: TaskPlan
    launch: TaskLaunch
    paused: bool

    @property
    def connector(self) -> str:
        """Return the connector's name."""
        return self.launch.connector

    @property
    def task(self) -> int:
        """Return the task's number."""
        return self.launch.task

    @property
    def generation(self) -> int:
        """Return the generation."""
        return self.launch.generation


class FakeSpark:
    """A launcher and link in one: a stopped task ends at once unless it is unreachable."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.expected: dict[tuple[str, int], bool] = {}
        """Whether an expected task is paused."""
        self.commands: list[tuple[str, int, str]] = []
        self.cancelled: list[tuple[str, int]] = []
        self.begun: list[tuple[str, int]] = []
        self.forgotten: list[tuple[str, int]] = []
        self.linked: set[tuple[str, int]] = set()
        self.awaited: list[float] = []
        self.is_deaf = False
        self.is_silent = False
        self.starts_at_once = True
        self.on_event: Callable[[TaskEvent], None] = lambda event: None
        self._ends: dict[tuple[str, int, int], Callable[[TaskEnd], None]] = {}
        self._lock = threading.RLock()

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Record the task, which reports on its own thread like a real one."""
        run = Run(plan, launch, self.expected[launch.connector, launch.task])
        with self._lock:
            self.runs.append(run)
            self._ends[run.connector, run.task, run.generation] = on_end
        if self.starts_at_once:
            self._later(lambda: self.report(run, State.PAUSED if run.paused else State.RUNNING))

    def has_begun(self, connector: str, task: int) -> None:
        """Record it."""
        self.begun.append((connector, task))

    def cancel(self, connector: str, task: int) -> None:
        """Record it, and end the run."""
        self.cancelled.append((connector, task))
        self._later(lambda: self.end(self.newest(connector, task), "cancelled"))

    def expect(self, plan: TaskPlan, generation: int, is_paused: bool, hidden: object = None) -> LinkAddress:
        """Return an address."""
        self.expected[plan.connector, plan.task] = is_paused
        return LinkAddress("127.0.0.1", 1, f"token-{generation}", "certificate")

    def command(self, connector: str, task: int, command: str) -> None:
        """Record the command and carry it out."""
        self.commands.append((connector, task, command))
        if self.is_deaf:
            return
        run = self.newest(connector, task)
        if COMMANDS[command] in ENDS:
            self._later(lambda: self.end(run))
        else:
            self._later(lambda: self.report(run, State.PAUSED if command == "pause" else State.RUNNING))

    def forget_topics(self, connector: str) -> None:
        """Record it as a command to all tasks."""
        self.commands.append((connector, -1, "topics.forget"))

    def is_linked(self, connector: str, task: int) -> bool:
        """Return whether a run has reported and not ended, unless a test overrides it."""
        return (connector, task) in self.linked

    def await_end(self, connector: str, task: int, timeout: float) -> bool:
        """Record the timeout; the run has ended unless it is unreachable and the timeout is zero."""
        self.awaited.append(timeout)
        return timeout > 0 or not self.is_silent

    def forget(self, connector: str, task: int) -> bool:
        """Record it."""
        self.forgotten.append((connector, task))
        return (connector, task) in self.linked

    def newest(self, connector: str, task: int) -> Run:
        """Return the last launched run of a task."""
        with self._lock:
            return next(run for run in reversed(self.runs) if (run.connector, run.task) == (connector, task))

    def report(self, run: Run, state: State, trace: str | None = None) -> None:
        """Report a state as a run."""
        self.linked.add((run.connector, run.task))
        self.on_event(TaskEvent(run.connector, run.task, run.generation, "status", str(state), trace))

    def lose_link(self, run: Run) -> None:
        """Break the link of a run."""
        self.linked.discard((run.connector, run.task))
        self.on_event(TaskEvent(run.connector, run.task, run.generation, "lost"))

    def end(self, run: Run, error: str | RunLoss | None = None) -> None:
        """End a run."""
        self.linked.discard((run.connector, run.task))
        with self._lock:
            on_end = self._ends.pop((run.connector, run.task, run.generation), None)
        if on_end is not None:
            on_end(
                TaskEnd(run.connector, run.task, run.generation, RunLoss(error) if isinstance(error, str) else error)
            )

    @staticmethod
    def _later(job: Callable[[], None]) -> None:
        threading.Thread(target=job, daemon=True).start()


class Bench:
    """A herder over stand-in plugins and a fake Spark."""

    def __init__(
        self,
        root: Path,
        worker: dict[str, str] | None = None,
        *plugins: Plugin,
        offsets: Callable[[FakeSpark], MemoryOffsetStore] = lambda _: MemoryOffsetStore(),
        variables: Variables | None = None,
        later: Callable[[float, Callable[[], None]], RestartTimer] = run_later,
    ) -> None:
        self.spark = FakeSpark()
        self.configs = MemoryConfigStore()
        self.statuses = StatusWatch()
        self.offsets = offsets(self.spark)
        keys = {**WORKER, "task.shutdown.graceful.timeout.ms": "300", **(worker or {})}
        settings = DistributedConfig(keys) if "group.id" in keys else WorkerConfig(keys)
        known, pool = directory(root / "environments", *plugins), StagePool()
        leader_services = LeaderServices(
            directory=known,
            planner=Planner(known, settings, variables=variables or Variables()),
            pool=pool,
            configs=self.configs,
            offsets=self.offsets,
            board=StatusBoard(self.statuses, "127.0.0.1:8083"),
            launcher=self.spark,
            link=self.spark,
            graceful_seconds=settings.task_shutdown_graceful_timeout_ms / 1000,
            variables=variables or Variables(),
            run_later=later,
        )
        self.herder = Herder(leader_services, ConnectorValidator(known, settings, pool, variables=variables))
        self.spark.on_event = self.herder.reconciler.on_event
        self.herder.reconciler.lead(1)

    def supervisor(self, name: str) -> Supervisor:
        """Return the supervisor of a running connector."""
        return self.herder.reconciler._supervisors[name]

    def put(self, name: str, **changes: str) -> dict[str, Any]:
        """Create or replace a source connector; underscores in keys replace dots."""
        config = {"name": name, "connector.class": "FileStreamSource", "topic": "t"}
        config.update({key.replace("_", "."): value for key, value in changes.items()})
        return self.herder.put(name, config).result(30).info

    def connector(self, name: str) -> dict[str, Any]:
        """Return a connector's state as in REST."""
        state: dict[str, Any] = self.herder.view.connector(name)
        return state

    def await_task(self, name: str, state: State, task: int = 0) -> None:
        """Wait until a task has a state."""
        self.statuses.wait(lambda: (found := self.statuses.task(name, task)) is not None and found.state is state)

    def await_connector(self, name: str, state: State) -> None:
        """Wait until a connector has a state."""
        self.statuses.wait(lambda: (found := self.statuses.connector(name)) is not None and found.state is state)

    def configs_hold(self, name: str) -> None:
        """Wait until the configuration of a connector is validated and stored."""
        is_stored = eventually(lambda: self.configs.snapshot().find(name) is not None, TIMEOUT)
        assert is_stored, f"{name} is never stored"

    def settle(self, name: str) -> None:
        """Wait until all requests for a connector are done."""
        self.herder._queues.submit(name, lambda: None).result(30)


class StatusWatch(MemoryStatusStore):
    """Statuses that a test can wait for."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = threading.Condition()

    def put_connector(self, status: Any) -> None:
        """Put, and wake waiting tests."""
        super().put_connector(status)
        self._wake()

    def put_task(self, status: Any) -> None:
        """Put, and wake waiting tests."""
        super().put_task(status)
        self._wake()

    def wait(self, predicate: Callable[[], bool]) -> None:
        """Wait until a predicate holds for the statuses."""
        with self._changed:
            assert self._changed.wait_for(predicate, TIMEOUT), "the statuses never came to be as expected"

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
