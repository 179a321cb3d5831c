"""A real Spark standalone cluster on this machine, and its executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.foundation.port import LOOPBACK
from hearth.spark.local_cluster import SLOTS, LocalCluster
from tests.bench.meter import descendants
from tests.reservation import reserve_port

_EXECUTOR = "CoarseGrainedExecutorBackend"


class SparkCluster(LocalCluster):
    """Starts with its block and stops with it; its ports are unique among the tests."""

    def __init__(
        self,
        folder: Path,
        workers: int,
        host: str = LOOPBACK,
        through: Sequence[str] = (),
        jvm_options: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        slots: int = SLOTS,
    ) -> None:
        super().__init__(folder, workers, host, through, jvm_options, properties, reserve_port, slots)

    def __enter__(self) -> SparkCluster:
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def add_worker(self) -> None:
        """Start one more worker."""
        self._start_worker(self.size)
        self.size += 1

    def executors(self) -> dict[int, int]:
        """Return the pids of the executors' JVMs, each with the number of its child processes."""
        found = {}
        for process in self.pids:
            for pid, command in descendants(process).items():
                if _EXECUTOR in command:
                    found[pid] = len(descendants(pid)) - 1
        return found

    def registered(self) -> int:
        """Return how many applications the master has registered, including ended ones."""
        return self.log.read_text(errors="replace").count("Registered app")

    def busiest_executor(self) -> int:
        """Return the pid of the executor with the most processes, which runs tasks."""
        executors = self.executors()
        assert len(executors) == self.size, executors
        return max(executors, key=lambda pid: executors[pid])
