"""A real Spark standalone cluster on this machine: a master and some workers, each with one executor."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.broker.process import QUICK_START
from hearth.foundation.child import start_child, stop_child
from hearth.foundation.port import LOOPBACK
from hearth.foundation.properties import render
from hearth.spark.address import silence_of
from hearth.spark.driver import driver_archive
from tests.bench.meter import descendants
from tests.peer.rest import eventually
from tests.reservation import reserve_port

_EXECUTOR = "CoarseGrainedExecutorBackend"
_SLOTS = 8


class SparkCluster:
    """Starts the processes of a standalone cluster and stops them; they end with this process."""

    def __init__(
        self,
        folder: Path,
        workers: int,
        host: str = LOOPBACK,
        through: Sequence[str] = (),
        jvm_options: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Describe a cluster at an address, whose processes are started through a command of another machine.

        By default its JVMs start quickly, from the archive of a driver's classes, and compile little; what is measured
        runs as Spark starts it. Its properties, with a secret perhaps, are those of master and workers; a host has its
        own.
        """
        self._folder = folder
        self._workers = workers
        self._properties = dict(properties or {})
        self._host = host
        self._through = list(through)
        quick = (*QUICK_START, *driver_archive().options())
        self._options = " ".join(quick if jvm_options is None else jvm_options)
        self._port = reserve_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """Return what `spark.master` is set to."""
        return f"spark://{self._host}:{self._port}"

    def settings(self) -> dict[str, str]:
        """Return the worker properties that make Hearth use this cluster with one executor on each worker.

        The address on which executors find the host is left for the host to choose.
        """
        return {
            "spark.master": self.url,
            "spark.executor.cores": str(_SLOTS),
            "spark.executor.memory": "512m",
            **({"spark.executor.extraJavaOptions": self._options} if self._options else {}),
        }

    def __enter__(self) -> SparkCluster:
        self._folder.mkdir(parents=True)
        deploy = "org.apache.spark.deploy."
        self._start(f"{deploy}master.Master", "--host", self._host, "--port", str(self._port),
                    "--webui-port", str(reserve_port()), *self._with_properties())  # fmt: skip
        assert eventually(lambda: silence_of(self.url) is None, 60), "the Spark master did not start"
        for number in range(self._workers):
            self._start(f"{deploy}worker.Worker", "--host", self._host, "--webui-port", str(reserve_port()),
                        "--cores", str(_SLOTS), "--memory", "1g", "--work-dir", str(self._folder / f"work-{number}"),
                        *self._with_properties(), self.url)  # fmt: skip
        return self

    def __exit__(self, *_error: object) -> None:
        for process in reversed(self._processes):
            stop_child(process, 20)

    @property
    def pids(self) -> list[int]:
        """Return the processes of the master and the workers, from which the executors descend."""
        return [process.pid for process in self._processes]

    def executors(self) -> dict[int, int]:
        """Return the pids of the executors' JVMs, each with the number of its child processes."""
        found = {}
        for process in self._processes:
            for pid, command in descendants(process.pid).items():
                if _EXECUTOR in command:
                    found[pid] = len(descendants(pid)) - 1
        return found

    def busiest_executor(self) -> int:
        """Return the pid of the executor with the most processes, so one that runs tasks."""
        executors = self.executors()
        assert len(executors) == self._workers, executors
        return max(executors, key=lambda pid: executors[pid])

    def _with_properties(self) -> list[str]:
        """Write what the cluster's processes read, for nobody else to read, and return the option that says where."""
        defaults = self._folder / "spark-defaults.conf"
        defaults.touch(mode=0o600)
        defaults.write_text(render(self._properties), encoding="latin-1")
        return ["--properties-file", str(defaults)]

    def _start(self, *command: str) -> None:
        """Start one of Spark's own processes with a small heap."""
        with (self._folder / "spark.log").open("ab") as log:
            self._processes.append(
                start_child(
                    [*self._through, str(spark_home() / "bin" / "spark-class"), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._environment(),
                )
            )

    def _environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "SPARK_HOME": str(spark_home()),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": self._options,
            "SPARK_LOCAL_IP": self._host,
            "PYSPARK_PYTHON": sys.executable,
        }


def spark_home() -> Path:
    """Return the folder of pyspark, which is a whole Spark."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))
