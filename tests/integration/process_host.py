"""A cluster host within the tests' process, whose tasks run in separate processes that may be killed."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from hearth.config import DistributedConfig, WorkerConfig
from hearth.runtime.launcher import Launcher, RunLoss, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.runtime.task import run_task
from hearth.storage import ConfigStore, OffsetStore, StatusStore
from hearth.storage.topic_store import TopicStores
from tests.integration.thread_host import ThreadHost, ThreadLauncher
from tests.peer.distributed import cluster_settings

_PROGRAM = f"from {__name__} import run; run()"


def run() -> None:
    """Run the task that is in the standard input."""
    run_task(pickle.load(sys.stdin.buffer), lambda environment: environment)


class ProcessLauncher(ThreadLauncher):
    """Runs each task in a process that may be killed, in place of Spark."""

    def __init__(self) -> None:
        super().__init__(lambda environment: environment)
        self.processes: list[subprocess.Popen[bytes]] = []

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task."""
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE)
        self.processes.append(process)
        thread = threading.Thread(target=self._attend, args=(process, launch, on_end), name=f"task-{plan.name}")
        self._threads.append(thread)
        thread.start()

    def _attend(self, process: subprocess.Popen[bytes], launch: TaskLaunch, on_end: Callable[[TaskEnd], None]) -> None:
        process.communicate(pickle.dumps(launch))
        loss = None if process.returncode == 0 else RunLoss(f"its process ended with {process.returncode}")
        on_end(TaskEnd(launch.connector, launch.task, launch.generation, loss))


class ProcessHost(ThreadHost):
    """Keeps its state in Kafka's topics; it is its cluster's only host."""

    def __init__(self, bootstrap_servers: str, group: str, **worker: str) -> None:
        self.launcher = ProcessLauncher()
        self._topics: TopicStores
        settings: dict[str, Any] = {**cluster_settings(group), **worker}
        super().__init__(bootstrap_servers, **settings)

    def _parts(
        self, settings: dict[str, str]
    ) -> tuple[WorkerConfig, tuple[ConfigStore, StatusStore, OffsetStore], Launcher | None]:
        del settings["offset.storage.file.filename"]
        worker = DistributedConfig(settings)
        topics = self._topics = TopicStores(worker, on_fenced=lambda: None)
        return worker, (topics.configs, topics.statuses, topics.offsets), self.launcher

    def __enter__(self) -> ThreadHost:
        """Start it."""
        self._topics.start()
        self._topics.claim()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        """Drain everything and stop."""
        super().__exit__(*error)  # type: ignore[arg-type]
        self._topics.close()
