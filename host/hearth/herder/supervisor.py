"""Supervises one connector while this host leads, and makes it match the store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from hearth.config.connector_key import NAME, RELOAD_ACTION, RESTART
from hearth.config.variable import Resolved, asked_once
from hearth.discovery import PluginType
from hearth.foundation.log_context import about, label_of
from hearth.herder.fencing import fence_earlier_tasks
from hearth.herder.instance import ConnectorRun, TransitionFailed, refuse_nulls
from hearth.herder.leader_services import LeaderServices
from hearth.herder.plugin.staged_connector import StagedConnector
from hearth.herder.sharing_history import SharingHistory
from hearth.herder.task import RunServices, SupervisedTask
from hearth.herder.task_link import TaskEvent
from hearth.herder.task_restart import RestartTimer, TaskRestarts
from hearth.storage import ConfiguredConnector, RestartRequest, State, TargetState
from hearth_api import ConnectError, NotFoundError
from hearth_execution.failure import summary_of

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Restart:
    """The parts of a connector to restart although nothing has changed."""

    instance: bool = False
    tasks: Collection[int] = ()


NOTHING = Restart()


class Supervisor:
    """The instance and the tasks of one connector while this host is responsible for it.

    `reconcile` is called on the connector's queue and blocks only that queue. `end` and the reports of tasks may come
    from any thread at any time.

    The instance belongs to a revision of the configuration in the store, the tasks to a revision of the task
    configurations. Instance and tasks of an older revision are replaced, whichever host wrote the new one. A failure
    for a revision is not retried until a user requests it or writes a new configuration.
    """

    def __init__(
        self,
        name: str,
        leader_services: LeaderServices,
        generations: Iterator[int],
        later: Callable[[str, Callable[[], None]], None],
    ) -> None:
        """``later`` queues a named action on the connector's queue, once however often requested, and reconciles."""
        self.name = name
        self._services = leader_services
        self._run_services = RunServices(
            leader_services.launcher, leader_services.link, leader_services.board, generations, leader_services.metrics
        )
        self._later = later
        self._revision: int | None = None
        self._tasks_revision: int | None = None
        self._run: ConnectorRun | None = None
        self._sharing_history = SharingHistory()
        self._task_histories: dict[int, SharingHistory] = {}
        self._tasks: dict[int, SupervisedTask] = {}
        self._restarts = TaskRestarts(name, lambda: later("task restart", lambda: None), leader_services.run_later)
        self._lock = threading.Lock()
        self._ending = threading.Lock()
        self._is_over = False
        self._reload: RestartTimer | None = None

    @property
    def is_over(self) -> bool:
        """Return whether `end` was called."""
        return self._is_over

    def reconcile(self, entry: ConfiguredConnector, restart: Restart) -> None:
        """Match the store: start the instance, store its task configurations, and start the stored tasks.

        A restart whose plugins are missing is rejected before anything is stopped. An error of the instance is raised
        last, because its tasks go on without it. Stored tasks of another writer start before the instance, which may
        take long. Variables are resolved once for the whole call.
        """
        with asked_once(), ExitStack() as rest:
            if restart.instance or restart.tasks:
                self._services.plan_or_refuse(entry)
            if self._revision is None and entry.applied == entry.config and entry.target is not TargetState.STOPPED:
                self._bring_tasks(entry, ())
            rest.callback(self._bring_present_tasks, restart.tasks)
            rest.callback(self._renew_tasks, entry)
            self._bring_instance(entry, restart.instance)

    def outdated(self, entry: ConfiguredConnector, classes: Collection[str]) -> Restart | None:
        """Return what runs from bundles other than those it would start with now; ``classes`` are those that changed.

        None, with a log message, if it could not start: environments are built here, before anything is stopped. The
        result is reliable only on the connector's queue; elsewhere it is a forecast.
        """
        run, tasks = self._run, list(self._tasks.values())
        used = {spec.class_name for task in tasks for spec in task.plan.plugins}
        used |= set() if run is None else {run.plugin.class_name}
        if self._revision is None or entry.target is TargetState.STOPPED or not (run is None or used & {*classes}):
            return NOTHING
        try:
            config = self._services.resolve(entry).config
            worker = self._services.planner.worker_for(config)
            if not worker.follows_upgrades(config):
                return NOTHING
            plugin = self._services.directory.connector(config)
            plans = self._services.planner.plan(plugin, None, {**config, NAME: self.name}, entry.tasks)
        except (ConnectError, OSError) as error:
            log.warning("the connector keeps running with its old bundles: %s", error)
            return None
        numbers = [
            task.number for task in tasks if task.number < len(plans) and plans[task.number].code != task.plan.code
        ]
        return Restart(run is None or run.plugin != plugin, numbers)

    def move(self, number: int) -> bool:
        """Let a task drain and continue elsewhere; return whether it will. Thread-safe; does not block."""
        with self._lock:
            task = None if self._is_over else self._tasks.get(number)
        return task is not None and task.move()

    def end(self, *, is_followed: bool = False) -> None:
        """Stop the tasks, then the instance, and wait until they have ended; nothing starts afterwards."""
        with self._lock:
            self._is_over = True
            run = self._run
        with self._ending, about(label_of(self.name)):  # a second caller waits for the first
            self._reload_after(None)
            self._stop_tasks(are_followed=is_followed)
            if run is not None:
                run.shut_down()

    def on_event(self, event: TaskEvent) -> None:
        """Pass an event of a task link on to its task."""
        with self._lock:
            task = self._tasks.get(event.task)
        if task is None:
            return
        if event.counts:
            task.on_counts(event.generation, event.counts)
        if event.plugins is not None:
            task.on_plugins(event.generation, event.plugins)
        if event.kind == "lost":
            task.on_lost_link(event.generation)
        elif event.kind == "topics":
            task.on_topics(event.generation, event.topics)
        elif event.state is not None:
            task.on_status(event.generation, State(event.state), event.trace)

    def _bring_instance(self, entry: ConfiguredConnector, is_restart: bool) -> None:
        """Replace an outdated instance, and bring the instance to its target state."""
        run = self._run
        is_late = run is not None and run.is_stopped and run.settings.has_values
        if is_restart or entry.revision != self._revision or (is_late and entry.target is not TargetState.STOPPED):
            if run is not None:
                run.shut_down()
                if is_restart:
                    self._services.board.connector(self.name, State.RESTARTING)
            with self._services.metrics.connector_starts.counted():
                self._start_instance(entry)
        elif run is not None and run.target is not entry.target:
            run.transition(entry.target)

    @property
    def tasks(self) -> list[SupervisedTask]:
        """Return the tasks, by number."""
        with self._lock:
            return [self._tasks[number] for number in sorted(self._tasks)]

    def runs(self, entry: ConfiguredConnector) -> bool:
        """Return whether instance and tasks are those of the configuration that the store has."""
        is_applied = entry.tasks_revision == self._tasks_revision and (
            not entry.tasks or entry.applied == entry.config
        )
        return entry.revision == self._revision and is_applied

    @property
    def run(self) -> ConnectorRun | None:
        """Return the connector's instance, None if its class could not be found."""
        return self._run

    def _start_instance(self, entry: ConfiguredConnector) -> None:
        if entry.revision != self._revision:
            self._sharing_history, self._task_histories = SharingHistory(), {}
        self._revision, self._run = entry.revision, None
        try:
            settings = self._services.resolve(entry)
            plugin = self._services.directory.connector(settings.config)
        except ConnectError as error:
            self._services.board.connector(self.name, State.FAILED, summary_of(error))
            raise
        run = ConnectorRun(
            self.name,
            settings,
            plugin,
            lambda: self._new_stage(settings.config),
            self._services.offsets,
            self._services.board,
            self._later,
        )
        with self._lock:  # an instance that would never be stopped must not start
            if self._is_over:
                raise ConnectError(
                    f"the host is stopping or no longer leads: connector {self.name} is not started",
                    code="host.stopping",
                )
            self._run = run
        self._reload_after(settings)
        run.refuse_unless(lambda: refuse_nulls(settings.config))
        if plugin.type is PluginType.SOURCE:
            run.refuse_unless(lambda: self._services.planner.topics_of(settings.config))
        run.transition(entry.target)

    def _new_stage(self, config: Mapping[str, str]) -> StagedConnector:
        """Return a new instance of a connector, of the version that is installed now."""
        plugin = self._services.directory.connector(config)
        worker = self._services.planner.worker_for(config)
        if worker.is_apart(config):
            self._sharing_history.is_apart = True
        environment = self._services.directory.environment(plugin).confined(worker.confinement(config))
        seconds = worker.call_seconds(config)
        return self._services.pool.take(plugin, environment, seconds, self._sharing_history)

    def _renew_tasks(self, entry: ConfiguredConnector) -> None:
        """Write the connector's task configurations to the store if they have changed."""
        try:
            if entry.target is TargetState.STOPPED:
                if entry.tasks and not self._is_over:
                    self._services.configs.remove_tasks(self.name)
            elif (configs := self._new_task_configs(entry)) is not None and not self._is_over:
                self._services.configs.put_tasks(self.name, configs)
        except NotFoundError as error:  # deleted by another request; reconciled next
            log.debug("%s", error)

    def _new_task_configs(self, entry: ConfiguredConnector) -> list[dict[str, str]] | None:
        """Request task configurations from the connector; None if its tasks are to stay unchanged.

        If the request fails, the connector is FAILED, the error is raised, and its tasks keep running. They also keep
        running if new tasks would lack a plugin.
        """
        run = self._run
        if run is None or not run.is_running or not run.is_due or entry.target is not TargetState.STARTED:
            return None
        try:
            configs = run.task_configs()
        except ConnectError as error:
            run.fail(summary_of(error))
            message = run.settings.hidden(str(error))
            raise TransitionFailed(
                f"Connector {self.name} does not say what its tasks are: {message}", code=error.code, hint=error.hint
            ) from error
        is_applied = entry.applied == entry.config and all(
            task.settings.config == run.settings.config for task in list(self._tasks.values())
        )
        if is_applied and list(entry.tasks) == configs:
            return None
        return configs if not entry.tasks or self._has_plugins(entry) else None

    def _has_plugins(self, entry: ConfiguredConnector) -> bool:
        try:
            self._services.plan_or_refuse(entry)
        except ConnectError as error:
            log.warning("the connector's new task configurations are not applied; its tasks keep running: %s", error)
            return False
        return True

    def _bring_present_tasks(self, again: Collection[int]) -> None:
        present = self._services.configs.snapshot().find(self.name)
        if present is not None:
            due = self._restarts.due() if present.target is TargetState.STARTED else set()
            self._bring_tasks(present, again, due - set(again))

    def _bring_tasks(
        self, entry: ConfiguredConnector, again: Collection[int], by_themselves: Collection[int] = ()
    ) -> None:
        """Run exactly the tasks of the store: restart all if they have changed, otherwise only those requested.

        Automatic restarts of failed tasks, ``by_themselves``, keep their restart count. Raises TransitionFailed if
        requested tasks cannot be launched; their status has the trace.
        """
        if entry.tasks_revision != self._tasks_revision:
            self._services.metrics.histories.renew(self.name, entry.tasks_revision)
            self._stop_tasks(are_followed=bool(entry.tasks))
            due, by_themselves = list(range(len(entry.tasks))), ()
        else:
            due = [number for number in sorted({*again, *by_themselves}) if number < len(entry.tasks)]
            self._stop_tasks(due, are_followed=True)
            for number in due:
                self._report(number, State.RESTARTING)
        if self._is_over:
            return
        self._tasks_revision = entry.tasks_revision
        self._services.board.forget_tasks(self.name, len(entry.tasks))
        for task in list(self._tasks.values()):
            task.pause(entry.target is TargetState.PAUSED)
        if due and not self._start_tasks(entry, due, by_themselves) and again:
            raise TransitionFailed(f"Failed to start task: {self.name}-{min(again)}")

    def _start_tasks(self, entry: ConfiguredConnector, numbers: list[int], by_themselves: Collection[int]) -> bool:
        """Launch tasks and return whether that succeeded; otherwise all are FAILED with the reason.

        As in Kafka Connect, they are launched even if their connector's instance has failed.
        """
        run = self._run
        settings = Resolved(entry.config, entry.config)
        try:
            variables = self._services.variables.of(entry.config)
            settings = variables.resolve(entry.config)
            plugin = self._services.directory.connector(settings.config)
            version = run.version if run and run.plugin == plugin else plugin.version
            tasks = [variables.resolve(each).config for each in entry.tasks]
            # the connector's real name, whatever its configuration contains
            named = {**settings.config, NAME: self.name}
            plans = self._services.planner.plan(plugin, version, named, tasks)
            if plugin.type is PluginType.SOURCE:
                fence_earlier_tasks(self._services.configs, self._services.planner, named, len(tasks))
            restarts = self._services.planner.worker_for(settings.config).task_restarts(settings.config)
        except (ConnectError, OSError) as error:
            trace = settings.hidden(summary_of(error))
            log.error("no task was started; all are FAILED:\n%s", trace)
            for number in numbers:
                self._services.metrics.task_starts.ended(is_success=False)
                self._report(number, State.FAILED, trace, is_versioned=False)
            return False
        self._reload_after(settings)
        log.info("starting tasks: %s", ", ".join(map(str, numbers)))
        for number in numbers:
            task = SupervisedTask(
                plans[number], settings, version, self._run_services,
                on_state=partial(self._hear, number),
                sharing_history=self._task_histories.setdefault(number, SharingHistory(whose="the task")),
            )  # fmt: skip
            with self._lock:
                if self._is_over:
                    return True
                self._tasks[number] = task
            self._restarts.begin(number, restarts, by_itself=number in by_themselves)
            task.start(entry.target is TargetState.PAUSED)
        return True

    def _stop_tasks(self, numbers: Collection[int] | None = None, are_followed: bool = False) -> None:
        """Let some or all tasks drain within one common timeout, and kill those that do not (Invariant 8).

        If successors start right away, ``are_followed``, the tasks leave shared state to them.
        """
        with self._lock:
            tasks = [task for number, task in self._tasks.items() if numbers is None or number in numbers]
        self._restarts.cancel([task.number for task in tasks])
        for task in tasks:
            task.begin_stop(is_followed=are_followed)
        deadline = time.monotonic() + self._services.graceful_seconds
        for task in tasks:
            if not task.await_stop(deadline):
                log.warning("task %d did not end within task.shutdown.graceful.timeout.ms and was killed", task.number)
        with self._lock:
            for task in tasks:
                if self._tasks.get(task.number) is task:
                    del self._tasks[task.number]

    def _hear(self, task: int, state: State) -> None:
        if state is State.FAILED:
            self._restarts.failed(task)
        elif state in (State.RUNNING, State.PAUSED):
            self._restarts.running(task)

    def _reload_after(self, settings: Resolved | None) -> None:
        """Schedule a restart for when the first of the connector's values expires, unless it disables that."""
        with self._lock:
            if self._reload is not None:
                self._reload.cancel()
                self._reload = None
            if self._is_over or settings is None or settings.ttl is None:
                return
            if settings.config.get(RELOAD_ACTION, RESTART) == RESTART:
                log.info("connector %r restarts in %s s, when its variables expire", self.name, settings.ttl)
                request = RestartRequest(self.name)
                self._reload = self._services.run_later(
                    settings.ttl, lambda: self._services.configs.put_restart(request)
                )

    def _report(self, task: int, state: State, trace: str | None = None, *, is_versioned: bool = True) -> None:
        run = self._run
        if not self._is_over:
            version = run.version if run and is_versioned else None
            self._services.board.task(self.name, task, state, trace, version)
