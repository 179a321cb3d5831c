"""A host within the tests' process: real stages, a real broker, and tasks in threads instead of Spark."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from hearth.config import StandaloneConfig, WorkerConfig
from hearth.discovery import discover
from hearth.foundation.certificate import make_identity
from hearth.herder.herder import Herder
from hearth.herder.leader_services import LeaderServices
from hearth.herder.planner import Planner
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.status import StatusBoard
from hearth.herder.task_link import TaskLinkServer
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.isolation.environment import Environment
from hearth.runtime.launcher import Launcher, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.runtime.task import run_task
from hearth.storage import (
    ConfigStore,
    MemoryConfigStore,
    MemoryOffsetStore,
    MemoryStatusStore,
    OffsetStore,
    State,
    StatusStore,
)
from tests.bundles.build import environments
from tests.peer.hearth_connect import file_bundle
from tests.timeouts import TIMEOUT, eventually

CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


class ThreadLauncher:
    """Runs each task in a thread; ``found`` is the result of locating the stage."""

    def __init__(self, found: Callable[[Environment], Environment]) -> None:
        self._found = found
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Do nothing: there is nothing to warm up."""

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task."""
        thread = threading.Thread(target=self._run, args=(launch, on_end), name=f"task-{plan.name}")
        self._threads.append(thread)
        thread.start()

    def has_begun(self, connector: str, task: int) -> None:
        """Do nothing: no task waits for a slot."""

    def cancel(self, connector: str, task: int) -> None:
        """Do nothing: tasks end by themselves here."""

    def stop(self) -> None:
        """Wait until all tasks have ended."""
        for thread in self._threads:
            thread.join(TIMEOUT)

    def _run(self, launch: TaskLaunch, on_end: Callable[[TaskEnd], None]) -> None:
        reason = run_task(launch, self._found)
        on_end(TaskEnd(launch.connector, launch.task, launch.generation, reason))


class ThreadHost:
    """A host with the file connectors, whose stores a test can read."""

    def __init__(
        self,
        bootstrap_servers: str,
        found: Callable[[Environment], Environment] = lambda environment: environment,
        **worker: str,
    ) -> None:
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "key.converter": CONVERTER,
            "value.converter": CONVERTER,
            "offset.storage.file.filename": "unused",
            "offset.flush.interval.ms": "200",
            **{key.replace("_", "."): value for key, value in worker.items()},
        }
        config, stores, launcher = self._parts(settings)
        catalogue = discover([file_bundle()])
        directory = PluginDirectory(lambda: catalogue, environments())
        self.configs, self.statuses, self.offsets = stores
        self._launcher, self._pool = launcher or ThreadLauncher(found), StagePool()
        self._link = TaskLinkServer(
            lambda event: self.herder.reconciler.on_event(event), self.offsets, make_identity()
        )
        self.herder = Herder(
            LeaderServices(
                directory=directory,
                planner=Planner(directory, config),
                pool=self._pool,
                configs=self.configs,
                offsets=self.offsets,
                board=StatusBoard(self.statuses, "w:1"),
                launcher=self._launcher,
                link=self._link,
                graceful_seconds=TIMEOUT,
            ),
            ConnectorValidator(directory, config, self._pool),
        )

    def _parts(
        self, settings: dict[str, str]
    ) -> tuple[WorkerConfig, tuple[ConfigStore, StatusStore, OffsetStore], Launcher | None]:
        """Return the settings as the host parses them, its stores and its launcher."""
        return StandaloneConfig(settings), (MemoryConfigStore(), MemoryStatusStore(), MemoryOffsetStore()), None

    def __enter__(self) -> ThreadHost:
        """Start it."""
        self._link.start()
        self.herder.reconciler.lead(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Drain everything and stop."""
        self.herder.shut_down()
        self._launcher.stop()
        self._link.close()

    def run(self, config: dict[str, str]) -> None:
        """Create a connector with one task, and wait until the task runs."""
        self.herder.put(config["name"], config).result(TIMEOUT)
        assert eventually(lambda: self.state(config["name"]) is State.RUNNING, TIMEOUT), self.statuses.task(
            config["name"], 0
        )

    def state(self, connector: str) -> State | None:
        """Return the state of a connector's single task."""
        status = self.statuses.task(connector, 0)
        return None if status is None else status.state


def file_source(name: str, path: Path, topic: str, **more: str) -> dict[str, str]:
    """Return the configuration of a connector that writes the lines of a file to a topic."""
    source = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    return {"name": name, "connector.class": source, "file": str(path), "topic": topic, **more}


def file_sink(name: str, path: Path, topics: str, **more: str) -> dict[str, str]:
    """Return the configuration of a connector that writes records to a file."""
    sink = "org.apache.kafka.connect.file.FileStreamSinkConnector"
    earliest = {"consumer.override.auto.offset.reset": "earliest"}
    return {"name": name, "connector.class": sink, "file": str(path), "topics": topics, **earliest, **more}
