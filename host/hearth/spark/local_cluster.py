"""A standalone Spark cluster on this machine: a master and workers with executors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from hearth.broker.process import QUICK_START
from hearth.foundation.child import start_child, stop_child
from hearth.foundation.port import LOOPBACK, next_free
from hearth.foundation.properties import render
from hearth.spark.address import silence_of
from hearth.spark.driver import driver_archive
from hearth.spark.gateway import installed_spark
from hearth_api import ConnectError

MASTER_PORT = 7077
SLOTS = 8
START_SECONDS = 60.0

_STOP_SECONDS = 20
_LOOK_SECONDS = 0.05


class ClusterFailed(ConnectError):
    """The cluster did not start."""

    code = "environment.spark.cluster"


class LocalCluster:
    """Starts the processes of a standalone cluster and stops them; they end with this process."""

    def __init__(
        self,
        folder: Path,
        workers: int,
        host: str = LOOPBACK,
        through: Sequence[str] = (),
        jvm_options: Sequence[str] | None = None,
        properties: Mapping[str, str] | None = None,
        find_port: Callable[[], int] = lambda: next_free(MASTER_PORT),
        slots: int = SLOTS,
    ) -> None:
        """Describe a cluster at an address; ``through`` is a command prefix that starts processes elsewhere.

        By default its JVMs start quickly, from the class archive of a driver, and compile little; benchmarks pass
        Spark's own ``jvm_options`` instead. ``properties``, which may hold a secret, are those of the master and the
        workers, not of a host. An executor runs as many tasks as it has ``slots``.
        """
        self._folder = folder
        self.size = workers
        self._slots = slots
        self._properties = dict(properties or {})
        self._host = host
        self._through = list(through)
        quick = (*QUICK_START, *driver_archive().options())
        self._options = " ".join(quick if jvm_options is None else jvm_options)
        self._port = find_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        """Return the value of `spark.master`."""
        return f"spark://{self._host}:{self._port}"

    def settings(self) -> dict[str, str]:
        """Return the worker properties that make Hearth use this cluster with one executor on each worker.

        The host chooses the address at which executors reach it.
        """
        return {
            "spark.master": self.url,
            "spark.executor.cores": str(self._slots),
            "spark.executor.memory": "512m",
            **({"spark.executor.extraJavaOptions": self._options} if self._options else {}),
        }

    def start(self) -> None:
        """Start the master and, once it answers, the workers; raises ClusterFailed."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._start_master()
        deadline = time.monotonic() + START_SECONDS
        while (silence := silence_of(self.url)) is not None:
            if self._processes[0].poll() is not None or time.monotonic() > deadline:
                raise ClusterFailed(f"the Spark master did not start: {silence}", hint=f"see {self.log}")
            time.sleep(_LOOK_SECONDS)
        for number in range(self.size):
            self._start_worker(number)

    def stop(self) -> None:
        """Stop everything, the master last."""
        for process in reversed(self._processes):
            stop_child(process, _STOP_SECONDS)

    @property
    def log(self) -> Path:
        """Return the file with the output of all processes."""
        return self._folder / "spark.log"

    @property
    def pids(self) -> list[int]:
        """Return the process ids of the master and the workers, the ancestors of the executors."""
        return [process.pid for process in self._processes]

    def replace(self, pid: int) -> None:
        """Restart a master or worker that has ended; returns at once."""
        number = self.pids.index(pid)
        self._processes[number].wait()
        self._start_worker(number - 1) if number else self._start_master()
        self._processes[number] = self._processes.pop()

    def _start_master(self) -> None:
        self._start("master.Master", "--host", self._host, "--port", str(self._port))

    def _start_worker(self, number: int) -> None:
        work = str(self._folder / f"work-{number}")
        self._start("worker.Worker", "--host", self._host, "--cores", str(self._slots), "--memory", "1g",
                    "--work-dir", work, self.url)  # fmt: skip

    def _with_properties(self) -> list[str]:
        """Write the properties to a private file and return the option that names it."""
        defaults = self._folder / "spark-defaults.conf"
        defaults.touch(mode=0o600)
        defaults.write_text(render(self._properties), encoding="latin-1")
        return ["--properties-file", str(defaults)]

    def _start(self, role: str, *arguments: str) -> None:
        """Start one of Spark's processes with a small heap and its web UI on a free port."""
        command = [f"org.apache.spark.deploy.{role}", "--webui-port", "0", *self._with_properties(), *arguments]
        with self.log.open("ab") as log:
            self._processes.append(
                start_child(
                    [*self._through, str(installed_spark() / "bin" / "spark-class"), *command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=self._environment(),
                )
            )

    def _environment(self) -> Mapping[str, str]:
        return {
            **os.environ,
            "SPARK_HOME": str(installed_spark()),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": self._options,
            "SPARK_LOCAL_IP": self._host,
            "PYSPARK_PYTHON": sys.executable,
        }
