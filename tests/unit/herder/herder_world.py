"""A deterministic world around a herder: its queues, plugins, tasks and hosts act only when a test says so.

One thread runs at a time. A queue works on request, and stops within a job when a plugin hangs until the test releases
it; so every interleaving can be tried and repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

from hearth.config.confinement_key import BY_DEFAULT
from hearth.config.restart_key import TaskRestartConfig
from hearth.discovery import Plugin, PluginType
from hearth.herder.herder import Herder
from hearth.herder.leader_services import LeaderServices
from hearth.herder.plugin.directory import PluginNotFound
from hearth.herder.plugin.staged_connector import StageListener
from hearth.herder.queue import Queues, interruptible
from hearth.herder.reconciler import UPGRADES
from hearth.herder.status import StatusBoard
from hearth.herder.task_link import TaskEvent
from hearth.isolation.environment import Environment
from hearth.link.admission import LinkAddress
from hearth.link.link_call import COMMANDS, ENDS
from hearth.runtime.launcher import RunLoss, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.staging.plugin_plan import PluginSpec
from hearth.storage import (
    ConfiguredConnector,
    MemoryConfigStore,
    MemoryOffsetStore,
    MemoryStatusStore,
    RestartRequest,
    State,
    TargetState,
)
from hearth_api import ConnectError, PluginError
from hearth_stage.connector_call import TaskConfigs
from tests.timeouts import TIMEOUT
from tests.unit.herder.catalogue import SOURCE, plugin
from tests.unit.runtime.sample import SETTINGS

STATES = {TargetState.STARTED: State.RUNNING, TargetState.PAUSED: State.PAUSED, TargetState.STOPPED: State.STOPPED}


class SteppedQueues(Queues):
    """Queues that work on request; the tested code is that of their parent."""

    def __init__(self, calm: Callable[[Hashable], bool]) -> None:
        """Queues that are ``calm``, in which no plugin hangs, work on the test's thread, which is faster."""
        super().__init__()
        self._is_calm = calm
        self.ready: list[Hashable] = []
        self.parked: dict[Hashable, threading.Event] = {}
        self._news: SimpleQueue[str] = SimpleQueue()
        self._mine = threading.local()

    def _begin(self, queue: Hashable) -> None:
        self.ready.append(queue)

    def work(self, queue: Hashable) -> None:
        """Let a queue work until it is empty or a plugin hangs."""
        self.ready.remove(queue)
        if self._is_calm(queue):
            self._work(queue)
            return
        threading.Thread(target=self._at_work, args=[queue], daemon=True).start()
        self._await(queue)

    def validate(self) -> None:
        """Carry out pending validations, each of which has an unnamed queue."""
        for queue in [each for each in self.ready if not isinstance(each, (str, tuple))]:
            self.work(queue)

    def _hurry(self, queue: Hashable) -> None:
        """Do nothing: the test decides when an impatient job has waited long enough."""

    def park(self) -> None:
        """Hang on the thread of a queue until released; other queues continue."""
        gate = self.parked[self._mine.queue] = threading.Event()
        self._news.put("parked")
        gate.wait()

    def run_out_of_time(self, queue: Hashable) -> None:
        """Interrupt what hangs if an impatient job waits for it."""
        if any(job.is_impatient for job in self._waiting[queue]):
            self._running[queue]._interrupt()
            self.release(queue)

    def release(self, queue: Hashable) -> None:
        """Release what hangs, and wait until its queue is empty or hangs again."""
        self.parked.pop(queue).set()
        self._await(queue)

    def _at_work(self, queue: Hashable) -> None:
        self._mine.queue = queue
        self._work(queue)
        self._news.put("done")

    def _await(self, queue: Hashable) -> None:
        try:
            self._news.get(timeout=TIMEOUT)
        except Empty:
            raise AssertionError(f"{queue} waits for something, and not for its own plugin") from None


@dataclass
class Run:
    """A run of a task that has not ended."""

    plan: TaskPlan
    generation: int
    on_end: Callable[[TaskEnd], None]
    host: Host
    is_paused: bool
    is_linked: bool = False
    is_deaf: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Return connector and number."""
        return self.plan.connector, self.plan.task

    @property
    def config(self) -> dict[str, str]:
        """Return the configuration of the connector it was planned for, see `_plans`."""
        return self.plan.plugin("task").config


class Instance:
    """An instance of a connector, representing the process it would run in."""

    def __init__(self, host: Host, version: str) -> None:
        self.host, self.world = host, host.world
        self.world.serial += 1
        self.serial = self.world.serial
        self.version = version
        self.is_alive = True
        self.is_started = False
        self.config: Mapping[str, str] = {}
        self.listener: StageListener | None = None
        self.world.instances.append(self)

    @property
    def name(self) -> str:
        """Return the connector's name, once started."""
        return self.config.get("name", "")

    def start(self, config: Mapping[str, str], listener: StageListener) -> None:
        """Start, hang or raise, as the configuration says."""
        self.config, self.listener, self.is_started = config, listener, True
        others = [each for each in self.world.instances if each.name == self.name and each.is_started]
        if len(others) > 1:
            self.world.breaches.append(f"two instances of {self.name}")
        self._do("start")

    def task_configs(self, maximum: int) -> TaskConfigs:
        """Return one configuration for each of the world's tables, with the text of the connector's configuration."""
        self._do("ask")
        return TaskConfigs(self.wanted_tasks)

    @property
    def wanted_tasks(self) -> list[dict[str, str]]:
        """Return the task configurations it would return now."""
        tables, text = self.world.tables.get(self.name, 1), self.config["text"]
        return [{"table": str(table), "text": text} for table in range(tables)]

    def stop(self) -> None:
        """Stop and keep the instance."""
        self.is_started, self.listener = False, None

    def end(self) -> None:
        """Stop and end the instance."""
        self.close()

    def close(self) -> None:
        """End the instance."""
        self.stop()
        self.is_alive = False
        if self in self.world.instances:
            self.world.instances.remove(self)

    def lose(self) -> None:
        """End with a process that another tenant has ended."""
        listener = self.listener
        self.is_alive = False
        if listener is not None:
            listener.on_loss()

    def _do(self, call: str) -> None:
        deed = self.config.get(call, "")
        with self.world.faulty(self.name), interruptible(self.close):
            if deed == "hang":
                self.host.queues.park()
                deed = self.world.outcome
            if deed == "raise" or not self.is_alive:
                raise PluginError(f"{call} does not work today")


class WorldTimer:
    """A timer that a test fires."""

    def __init__(self, alarms: list[WorldTimer], seconds: float, act: Callable[[], None]) -> None:
        self._alarms, self.seconds, self._act = alarms, seconds, act
        alarms.append(self)

    def cancel(self) -> None:
        """Cancel the timer."""
        if self in self._alarms:
            self._alarms.remove(self)

    def ring(self) -> None:
        """Fire the timer."""
        self.cancel()
        self._act()


class Host:
    """One host process: its herder, and its ends of the links and of Spark."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.queues = SteppedQueues(lambda name: name in world.calm or name == UPGRADES)
        self.is_gone = False
        self.expected: dict[tuple[str, int], bool] = {}
        """Whether an expected task is paused."""
        self._wanted: Mapping[str, str] = {}
        directory = SimpleNamespace(
            connector=self._connector,
            environment=lambda plugin: Environment("world", ()),
            connector_type=lambda config: "source",
        )
        self.alarms: list[WorldTimer] = []
        worker = SimpleNamespace(
            call_seconds=lambda _: 60.0,
            is_apart=lambda _: False,
            confinement=lambda _: BY_DEFAULT,
            follows_upgrades=lambda config: config.get("upgrade") != "none",
            task_restarts=TaskRestartConfig,
            rest_mask_passwords=False,
        )
        self.planner = SimpleNamespace(
            worker=worker,
            plan=_plans,
            topics_of=lambda config: (),
            worker_for=lambda config: worker,
            fencing=lambda config: None,
        )
        pool = SimpleNamespace(take=self._take, close=lambda: None)
        leader_services = LeaderServices(
            cast(Any, directory), cast(Any, self.planner), cast(Any, pool), world.configs, MemoryOffsetStore(),
            StatusBoard(world.statuses, "w:1"), self, self, 0.0, partial(WorldTimer, self.alarms),
        )  # fmt: skip
        self.herder = Herder(leader_services, cast(Any, SimpleNamespace(examine=self._examine)), self.queues)
        self.reconciler = self.herder.reconciler

    def _connector(self, config: Mapping[str, str]) -> Plugin:
        self._wanted = config
        if self.world.is_missing:
            raise PluginNotFound("no bundle has it")
        return plugin(SOURCE, PluginType.SOURCE, "Source", str(self.world.bundle))

    def _take(self, known: Plugin, environment: object, seconds: float, sharing_history: object) -> Instance:
        """Load a class, which may take long."""
        with self.world.faulty(self._wanted["name"]), interruptible(lambda: None):
            if self._wanted.get("load") == "hang":
                self.queues.park()
        return Instance(self, known.version)

    def _examine(self, config: Mapping[str, str]) -> tuple[dict[str, Any], list[Any]]:
        if config.get("validate") == "hang":
            self.queues.park()
        return {"error_count": 0}, []

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Start a run, which must be the only one of its task and have the greatest generation ever."""
        world, key = self.world, (launch.connector, launch.task)
        if launch.generation <= world.generation:
            world.breaches.append(f"generation {launch.generation} of {key} after {world.generation}")
        if world.run(*key) is not None:
            world.breaches.append(f"two runs of {key}")
        world.generation = launch.generation
        world.runs.append(Run(plan, launch.generation, on_end, self, self.expected[key]))

    def has_begun(self, connector: str, task: int) -> None:
        """Do nothing: here a run starts when it is launched."""

    def cancel(self, connector: str, task: int) -> None:
        """Kill a run."""
        if (run := self.world.run(connector, task)) is not None:
            self.world.end(run, "cancelled")

    def expect(self, plan: TaskPlan, generation: int, is_paused: bool, hidden: object = None) -> LinkAddress:
        """Return an address."""
        self.expected[plan.connector, plan.task] = is_paused
        return LinkAddress("127.0.0.1", 1, "token", "certificate")

    def command(self, connector: str, task: int, command: str) -> None:
        """Deliver a command to a run, or keep it until the run connects; an unreachable run does not stop."""
        run = self.world.run(connector, task)
        if run is None:
            return
        if COMMANDS[command] not in ENDS:
            run.is_paused = command == "pause"
        elif not run.is_deaf:
            self.world.end(run)

    def forget_topics(self, connector: str) -> None:
        """Do nothing: runs report no topics here."""

    def is_linked(self, connector: str, task: int) -> bool:
        """Return whether a run is connected."""
        run = self.world.run(connector, task)
        return run is not None and run.is_linked

    def await_end(self, connector: str, task: int, timeout: float) -> bool:
        """Return at once: a killed run has ended."""
        return True

    def forget(self, connector: str, task: int) -> bool:
        """Return whether a run was connected."""
        return self.is_linked(connector, task)


class World:
    """Stores, Spark, plugins, and the present host."""

    def __init__(self) -> None:
        self.configs = MemoryConfigStore()
        self.statuses = MemoryStatusStore()
        self.runs: list[Run] = []
        self.instances: list[Instance] = []
        self.calm: set[Hashable] = set()
        """Connectors that never hang."""
        self.tables: dict[str, int] = {}
        self.faults: set[str] = set()
        """Connectors with a reason to be FAILED."""
        self.strange: set[str] = set()
        """Connectors with tasks written by another host, whose instance need not have been asked since."""
        self.failed_tasks: set[tuple[str, int, int]] = set()
        self.breaches: list[str] = []
        self.futures: list[Future[Any]] = []
        self.outcome = ""
        self.serial = self.generation = self.term = 0
        self.bundle = 1
        """The version of the bundle on plugin.path."""
        self.is_missing = False
        """Whether the bundle is missing."""
        self.after_generation: dict[tuple[str, int], int] = {}
        """Tasks with a restart request, and the generation that the next run must exceed."""
        self.after_serial: dict[str, int] = {}
        """Connectors whose configuration was written, and the instance that must be replaced."""
        self.host = Host(self)

    # What users, other hosts, plugins and machines do ------------------------------------------------------------

    def lead(self) -> None:
        """Make the host lead with a new term."""
        self.term += 1
        self.host.reconciler.lead(self.term)

    def ask(self, act: Callable[[], Future[Any]]) -> None:
        """Send a request to the herder; an immediate rejection is ignored."""
        try:
            self.futures.append(act())
        except ConnectError:
            return

    def written(self, name: str) -> None:
        """Record that a configuration is written: the present instance must be replaced."""
        self.after_serial[name] = self.serial

    def exchange(self) -> None:
        """Put a newer version of the bundle on plugin.path and have the host scan it."""
        self.bundle += 1
        self.host.reconciler.on_plugins({SOURCE})

    def restarted(self, request: RestartRequest) -> None:
        """Record which runs must be replaced by a requested restart."""
        if request.include_tasks and not request.only_failed:
            for run in self.runs:
                if run.plan.connector == request.connector:
                    self.after_generation[run.key] = run.generation

    def write(self, act: Callable[[], None]) -> None:
        """Write to the store as another host; a rejection is ignored."""
        try:
            act()
        except ConnectError:
            return

    def restart_host(self, is_killed: bool) -> None:
        """End the host, in order or by a kill, with everything that ran; another starts that does not lead yet."""
        host = self.host
        if is_killed:
            host.reconciler._generations = None  # its threads do nothing more
            for supervisor in host.reconciler._supervisors.values():
                supervisor._is_over = True
                if supervisor._run is not None:
                    supervisor._run._is_over = True
            for run in list(self.runs):
                self.runs.remove(run)
            for instance in list(self.instances):
                instance.close()
            host.queues.close()
        else:
            host.herder.shut_down()
            if self.runs or self.instances:
                self.breaches.append("something runs behind the end of the host")
        while host.queues.ready or host.queues.parked:
            self._go_on(host)
        self.host = Host(self)

    @contextmanager
    def faulty(self, name: str) -> Iterator[None]:
        """Record that a connector has a reason to be FAILED if one of its calls fails."""
        try:
            yield
        except PluginError:
            self.faults.add(name)
            raise

    def run(self, connector: str, task: int) -> Run | None:
        """Return the run of a task."""
        return next((run for run in self.runs if run.key == (connector, task)), None)

    def end(self, run: Run, error: str | None = None) -> None:
        """End a run; its host is notified."""
        self.runs.remove(run)
        run.on_end(TaskEnd(*run.key, run.generation, RunLoss(error) if error else None))

    def report(self, run: Run) -> None:
        """Let a run connect and report its state."""
        run.is_linked = True
        self._say(run, State.PAUSED if run.is_paused else State.RUNNING)

    def fail(self, run: Run) -> None:
        """Let a run fail."""
        run.is_linked = True
        self.failed_tasks.add((*run.key, run.generation))
        self._say(run, State.FAILED, "why")
        self.end(run)

    def _say(self, run: Run, state: State, trace: str | None = None) -> None:
        event = TaskEvent(*run.key, run.generation, "status", str(state), trace)
        run.host.reconciler.on_event(event)

    # What must be true -------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Complete everything in progress, and check that what runs matches the store."""
        self.outcome = ""
        while self.host.queues.ready or self.host.queues.parked or self.host.alarms:
            self._go_on(self.host)
        for run in list(self.runs):
            if run in self.runs:
                self.report(run)
        assert not self.host.queues.ready
        assert all(future.done() for future in self.futures), "somebody was never answered"
        for future in self.futures:
            error = None if future.cancelled() else future.exception()
            assert error is None or isinstance(error, ConnectError), repr(error)
        self.futures.clear()
        entries = self.configs.snapshot().entries if self.host.reconciler.leads else {}
        assert {run.plan.connector for run in self.runs} <= set(entries)
        assert {instance.name for instance in self.instances if instance.is_started} <= set(entries)
        for name, entry in entries.items():
            self._check_instance(name, entry)
            self._check_tasks(name, entry)

    def _go_on(self, host: Host) -> None:
        if host.queues.ready:
            host.queues.work(host.queues.ready[0])
        elif host.alarms:
            host.alarms[0].ring()
        else:
            host.queues.release(next(iter(host.queues.parked)))

    def _check_instance(self, name: str, entry: ConfiguredConnector) -> None:
        status = self.statuses.connector(name)
        assert status is not None
        mine = [each for each in self.instances if each.is_started and each.name == name]
        if status.state is State.FAILED:
            assert name in self.faults, f"{name} is FAILED for no reason: {status.trace}"
            assert entry.target is not TargetState.STOPPED
            return
        assert status.state is STATES[entry.target]
        assert [each.config for each in mine] == ([entry.config] if status.state is State.RUNNING else [])
        self.faults.discard(name)
        if mine:
            assert mine[0].version == str(self.bundle) or entry.config.get("upgrade") == "none"
            assert mine[0].serial > self.after_serial.get(name, 0), "the configuration was written after it started"
            assert entry.applied == entry.config
            if list(entry.tasks) == mine[0].wanted_tasks:
                self.strange.discard(name)
            assert list(entry.tasks) == mine[0].wanted_tasks or name in self.strange

    def _check_tasks(self, name: str, entry: ConfiguredConnector) -> None:
        statuses = {status.task: status.state for status in self.statuses.tasks(name)}
        status = self.statuses.connector(name)
        is_asked = status is not None and status.state is State.RUNNING
        assert sorted(statuses) == list(range(len(entry.tasks)))
        assert {run.plan.task for run in self.runs if run.plan.connector == name} <= set(statuses)
        assert entry.target is not TargetState.STOPPED or not entry.tasks
        for number, config in enumerate(entry.tasks):
            run = self.run(name, number)
            if run is None:
                assert statuses[number] is State.FAILED, f"{name}-{number} does not run"
                assert not self._may_restart(name, number, entry), f"{name}-{number} did not restart itself"
                newest = max(generation for (*key, generation) in self.failed_tasks if key == [name, number])
            else:
                newest = run.generation
                assert (run.plan.task_config, run.is_paused) == (config, entry.target is TargetState.PAUSED)
                assert run.config == entry.config or not is_asked
                assert run.host is self.host
                assert run.plan.plugin("task").reference == str(self.bundle) or entry.config.get("upgrade") == "none"
                assert statuses[number] is (State.PAUSED if run.is_paused else State.RUNNING)
            assert newest > self.after_generation.get((name, number), 0), f"{name}-{number} was not restarted"

    def _may_restart(self, name: str, number: int, entry: ConfiguredConnector) -> bool:
        """Return whether a failed task has automatic restarts left."""
        known = self.host.reconciler._supervisors[name]._restarts._tasks[number]
        return entry.target is TargetState.STARTED and known.settings.delay(known.restarts) is not None


def _plans(
    connector: Plugin, version: str | None, config: Mapping[str, str], tasks: Sequence[Mapping[str, str]]
) -> list[TaskPlan]:
    """Return plans with the connector's configuration in the class name, which load its version."""
    plugins = (PluginSpec("task", connector.class_name, connector.version, config=dict(config)),)
    return [
        TaskPlan(config["name"], number, str(connector.type), connector.class_name, plugins, {}, dict(task), SETTINGS)
        for number, task in enumerate(tasks)
    ]
