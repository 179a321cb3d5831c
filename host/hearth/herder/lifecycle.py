"""What a connector goes through: created, changed, restarted, paused, stopped, deleted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from hearth.config import WorkerConfig, topic_groups
from hearth.discovery import PluginType
from hearth.herder.connector import ConnectorRun
from hearth.herder.crew import Crew
from hearth.herder.pipeline import Planner
from hearth.herder.plugin.directory import PluginAdded, PluginDirectory, PluginGone, PluginNotFound, VersionNotFound
from hearth.herder.plugin.stage import ConnectorStage, StagePool, trace_of
from hearth.herder.status import StatusBoard, StatusView
from hearth.herder.validation.result import complaint
from hearth.herder.validation.validator import Validator
from hearth.storage import (
    ConfigStore,
    ConfiguredConnector,
    OffsetStore,
    RestartRequest,
    State,
    TargetState,
)
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError
from hearth_execution.failure import cut

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Created:
    """The outcome of putting a configuration: whether the connector is new, and what REST shows of it."""

    is_new: bool
    info: dict[str, Any]


class Lifecycle:
    """Carries out what is to happen to connectors.

    Every method works on one connector and is called on that connector's lane; `post` puts what a plugin asks
    for by itself on that lane too, once however often it is asked for.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        directory: PluginDirectory,
        configs: ConfigStore,
        offsets: OffsetStore,
        board: StatusBoard,
        crew: Crew,
        validator: Validator,
        pool: StagePool,
        post: Callable[[str, str, Callable[[], None]], None],
    ) -> None:
        self._worker = worker
        self._directory = directory
        self._configs = configs
        self._offsets = offsets
        self._board = board
        self._crew = crew
        self._validator = validator
        self._pool = pool
        self._post = post
        self._view = StatusView(configs, board.store, directory)
        self._planner = Planner(directory, worker)
        self._lock = threading.Lock()
        self._is_over = False
        self._runs: dict[str, ConnectorRun] = {}

    def put(self, name: str, config: Mapping[str, str], target: TargetState | None, replace: bool) -> Created:
        """Create a connector or replace its configuration, once the configuration is found valid."""
        _refuse_unwritable(name, config)
        if message := complaint(self._validator.validate(config)):
            raise ConfigError(message, code="connector.invalid")
        is_new = self._configs.snapshot().find(name) is None
        if not is_new and not replace:
            raise ConflictError(f"Connector {name} already exists", code="connector.exists")
        self._end_run(name)
        self._configs.put_connector(name, config, target)
        self._start_run(name)
        self.update_tasks(name)
        return Created(is_new, self._view.info(name))

    def patch(self, name: str, changes: Mapping[str, str | None]) -> Created:
        """Change single keys of a configuration; None removes a key."""
        merged = {**self._entry(name).config, **changes}
        return self.put(name, {key: value for key, value in merged.items() if value is not None}, None, True)

    def delete(self, name: str) -> None:
        """Stop a connector and forget it."""
        self._entry(name)
        self._crew.stop(name)
        self._end_run(name)
        self._configs.remove_connector(name)
        self._board.forget(name)

    def restart_connector(self, name: str) -> None:
        """Make the instance of a connector anew."""
        self._refuse_without_plugins(name)
        self._end_run(name)
        self._start_run(name)
        self.update_tasks(name)

    def restart_task(self, name: str, task: int) -> None:
        """Launch a task anew."""
        if not 0 <= task < len(self._entry(name).tasks):
            raise NotFoundError(f"Task {name}-{task} not found", code="task.unknown")
        self._refuse_without_plugins(name)
        self._restart_tasks(name, [task])

    def restart(self, request: RestartRequest) -> dict[str, Any]:
        """Restart what a request asks for; returns what REST shows of that plan."""
        name = request.connector
        if self._configs.snapshot().find(name) is None:
            raise NotFoundError(f"Unknown connector: {name}", code="connector.unknown")
        status = self._board.store.connector(name)
        if status is None:
            raise NotFoundError(f"Status for connector {name} not found", code="status.unknown")
        self._refuse_without_plugins(name)
        plan = self._view.connector(name, request)
        tasks = [task.task for task in self._board.store.tasks(name) if request.wants_task(task.state)]
        if request.wants_connector(status.state):
            self._end_run(name)
            self._board.connector(name, State.RESTARTING)
            try:
                self._start_run(name)
            except ConnectError as error:
                log.warning("connector %r did not restart: %s", name, error)
        self._restart_tasks(name, tasks)
        return plan

    def follow_target(self, name: str) -> None:
        """Bring a connector and its tasks to the state that is wanted."""
        entry, run = self._configs.snapshot().find(name), self._runs.get(name)
        if entry is None or run is None:
            return
        if entry.target is TargetState.STOPPED:
            self._remove_tasks(name)
        try:
            run.transition(entry.target)
        except ConnectError as error:
            log.warning("%s", error)
        self._crew.pause(name, entry.target is TargetState.PAUSED)
        self.update_tasks(name)

    def update_tasks(self, name: str) -> None:
        """Ask the connector for task configurations and, where they are new, replace its tasks.

        A connector that fails to say is FAILED, and what runs goes on as it was; so it does where new tasks would
        lack a plugin.
        """
        run, entry = self._runs.get(name), self._configs.snapshot().find(name)
        if run is None or entry is None or not run.is_running or entry.target is not TargetState.STARTED:
            return
        try:
            configs = run.task_configs()
        except ConnectError as error:
            run.fail(trace_of(error))
            return
        if list(entry.tasks) == configs and entry.applied == entry.config:
            return
        if entry.tasks and not self._has_plugins(name):
            return
        self._remove_tasks(name, are_followed=bool(configs))
        self._configs.put_tasks(name, configs)
        self._start_tasks(name, range(len(configs)))

    def shut_down(self) -> None:
        """End the instances of all connectors, side by side; none is made afterwards."""
        with self._lock:
            self._is_over = True
            runs = list(self._runs.values())
        if runs:
            with ThreadPoolExecutor(len(runs), thread_name_prefix="shut-down") as threads:
                for run in runs:
                    threads.submit(run.shut_down)

    def _start_run(self, name: str) -> None:
        """Make the instance of a connector and bring it to the state that is wanted."""
        entry = self._entry(name)
        try:
            plugin = self._directory.connector(entry.config)
        except ConnectError as error:
            self._board.connector(name, State.FAILED, trace_of(error))
            raise
        run = ConnectorRun(
            name,
            entry.config,
            plugin,
            lambda: self._new_stage(entry.config),
            self._offsets,
            self._board,
            on_reconfiguration=lambda: self._post(name, "reconfiguration", lambda: self.update_tasks(name)),
            on_failure=lambda trace: self._post(name, f"failure of {id(run)}", lambda: run.fail(trace)),
        )
        with self._lock:  # a run that nobody would end is not begun
            if self._is_over:
                raise ConnectError(f"the host is stopping, connector {name} is not started", code="host.stopping")
            self._runs[name] = run
        if self._worker.topic_creation_enable and plugin.type is PluginType.SOURCE:
            run.refuse_unless(lambda: topic_groups(entry.config))
        run.transition(entry.target)

    def _new_stage(self, config: Mapping[str, str]) -> ConnectorStage:
        """Return an instance of a connector, of the version that there is at this moment."""
        plugin = self._directory.connector(config)
        seconds = self._worker.call_seconds(config)
        return self._pool.take(plugin, self._directory.environment(plugin), seconds)

    def _refuse_without_plugins(self, name: str) -> None:
        """Raise what a connector lacks before anything of it is ended for a restart that could not begin it again.

        Whatever else is wrong with its configuration its tasks say, as in Kafka Connect.
        """
        entry = self._entry(name)
        try:
            self._planner.plan(self._directory.connector(entry.config), None, entry.config, entry.tasks)
        except (PluginAdded, PluginGone, PluginNotFound, VersionNotFound):
            raise
        except (ConnectError, OSError):
            return

    def _has_plugins(self, name: str) -> bool:
        try:
            self._refuse_without_plugins(name)
        except ConnectError as error:
            log.warning("connector %r wants other tasks, and those that run go on as they were: %s", name, error)
            return False
        return True

    def _end_run(self, name: str) -> None:
        with self._lock:
            run = self._runs.pop(name, None)
        if run is not None:
            run.shut_down()

    def _restart_tasks(self, name: str, numbers: Sequence[int]) -> None:
        self._crew.stop(name, numbers, are_followed=True)
        run = self._runs.get(name)
        for number in numbers:
            self._board.task(name, number, State.RESTARTING, version=run.version if run else None)
        self._start_tasks(name, numbers)

    def _remove_tasks(self, name: str, are_followed: bool = False) -> None:
        self._crew.stop(name, are_followed=are_followed)
        self._configs.remove_tasks(name)
        self._board.forget_tasks(name)

    def _start_tasks(self, name: str, numbers: Sequence[int]) -> None:
        """Launch tasks; where their plugins cannot be resolved, all of them are FAILED with the reason.

        They are launched without an instance of their connector as well, as in Kafka Connect: it may have failed.
        """
        entry, run = self._entry(name), self._runs.get(name)
        try:
            plugin = self._directory.connector(entry.config)
            version = run.version if run and run.plugin == plugin else plugin.version
            plans = self._planner.plan(plugin, version, entry.config, entry.tasks)
        except (ConnectError, OSError) as error:
            for number in numbers:
                self._board.task(name, number, State.FAILED, trace_of(error), run.version if run else None)
            return
        self._crew.start([plans[number] for number in numbers], entry.target is TargetState.PAUSED)

    def _entry(self, name: str) -> ConfiguredConnector:
        entry = self._configs.snapshot().find(name)
        if entry is None:
            raise NotFoundError(f"Connector {name} not found", code="connector.unknown")
        return entry


def _refuse_unwritable(name: str, config: Mapping[str, str | None]) -> None:
    """Raise for halves of surrogate pairs: no file, topic or answer in UTF-8 could hold them."""
    texts = {"connector name": [name], "key": list(config), "value": [each for each in config.values() if each]}
    for what, given in texts.items():
        for text in given:
            try:
                text.encode()
            except UnicodeEncodeError as error:
                raise ConfigError(
                    f"the {what} {cut(text, 200)!a} cannot be written as UTF-8: {error.reason} at character "
                    f"{error.start}",
                    code="config.text",
                    hint="write the whole character where half of a surrogate pair stands",
                ) from error
