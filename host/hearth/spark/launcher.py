"""The launcher that puts tasks on Spark."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hearth.runtime.launcher import TaskEnd
from hearth.runtime.spec import TaskSpec
from hearth.spark.archive import archive_options
from hearth.spark.shipment import ship
from hearth_api import ConnectError

log = logging.getLogger(__name__)

SLOTS = 512
"""Slots of the local default: a slot is a thread that waits, so many are cheap."""

_FLAGS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xss512k"
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_DEFAULTS = {
    "spark.app.name": "hearth",
    "spark.master": f"local[{SLOTS}]",
    "spark.python.daemon.module": "hearth.spark.daemon",
    # A task that fails by its own doing ends quietly, so what Spark counts are lost executors: it may try for ever.
    "spark.task.maxFailures": "2147483647",
    "spark.stage.maxConsecutiveAttempts": "2147483647",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.scheduler.mode": "FAIR",
    # Arrow's own allocator keeps what it once had: with the system's a pipeline holds a quarter less memory
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "2",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "1000",
}


def spark_settings(worker: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's configuration: Hearth's defaults, then every ``spark.*`` key of the worker."""
    own = {key: value for key, value in worker.items() if key.startswith("spark.")}
    settings = {**_DEFAULTS, **own}
    if _is_local(settings["spark.master"]):
        settings.setdefault("spark.driver.host", "127.0.0.1")
        settings.setdefault("spark.driver.bindAddress", "127.0.0.1")
    options = f"{_FLAGS} -Dlog4j2.configurationFile=file:{_LOG_CONFIGURATION}"
    settings["spark.driver.extraJavaOptions"] = f"{options} {own.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def link_host(worker: Mapping[str, str]) -> str:
    """Return the address of this host on which tasks reach it."""
    return spark_settings(worker).get("spark.driver.host") or "127.0.0.1"


def _is_local(master: str) -> bool:
    return master.startswith("local")


class SparkLauncher:
    """Runs each Connect task as a Spark job of one partition, in a job group of its own."""

    def __init__(self, worker: Mapping[str, str], on_error: Callable[[str], None] | None = None) -> None:
        self._settings = spark_settings(worker)
        self._on_error = on_error or (lambda text: log.error("%s", text))
        self._ready = threading.Event()
        self._context: Any = None
        self._failure: str | None = None
        self._jvm: subprocess.Popen[bytes] | None = None
        self._shipped: set[str] = set()
        self._lock = threading.Lock()
        self._stopping = False

    def start(self) -> None:
        """Begin to start Spark; returns at once, tasks launched meanwhile wait for it."""
        threading.Thread(target=self._start, name="spark-start", daemon=True).start()

    @property
    def ui_url(self) -> str | None:
        """Return the address of Spark's own page once Spark is up."""
        return None if self._context is None else self._context.uiWebUrl

    def wait_until_ready(self, timeout: float | None = None) -> bool:
        """Wait until Spark takes tasks; returns whether it does."""
        return self._ready.wait(timeout) and self._failure is None

    def launch(self, spec: TaskSpec, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task as a Spark job; ``on_end`` hears when the job is over."""
        threading.Thread(target=self._run, args=(spec, on_end), name=f"spark-{spec.name}", daemon=True).start()

    def cancel(self, connector: str, task: int) -> None:
        """Cancel the Spark job of a task, whose Python worker is then killed."""
        if self._context is not None:
            with contextlib.suppress(Exception):  # a context that is going away has cancelled it already
                self._context.cancelJobGroup(_group(connector, task))

    def rehearse(self, function: Callable[[Any], Any]) -> None:
        """Run a function over one empty partition, so that all a task needs has been loaded once."""
        self._context.parallelize([0], 1).mapPartitions(function).collect()

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to end; every task's process ends with it."""
        with self._lock:
            self._stopping = True
            context, self._context = self._context, None
        if context is not None:
            with contextlib.suppress(Exception):
                context.cancelAllJobs()
            with contextlib.suppress(Exception):
                context.stop()
        self._end_jvm(grace)

    def _start(self) -> None:
        try:
            context = self._new_context()
        except Exception as error:
            self._failure = f"Spark did not start: {_first_line(error)}"
            self._on_error(self._failure)
            self._ready.set()
            return
        with self._lock:
            if not self._stopping:
                self._context = context
        if self._context is None:
            context.stop()
            self._end_jvm(grace=5)
        self._ready.set()

    def _new_context(self) -> Any:
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        if _is_local(self._settings["spark.master"]):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ["PYTHONPATH"] = os.pathsep.join(_import_path())
        from pyspark import SparkConf, SparkContext

        options = f"{self._settings['spark.driver.extraJavaOptions']} {archive_options()}"
        settings = {**self._settings, "spark.driver.extraJavaOptions": options.strip()}
        context = SparkContext(conf=SparkConf().setAll(list(settings.items())))
        self._jvm = getattr(SparkContext._gateway, "proc", None)
        return context

    def _run(self, spec: TaskSpec, on_end: Callable[[TaskEnd], None]) -> None:
        error = None
        try:
            self._ready.wait()
            self._submit(spec)
        except Exception as failure:
            error = _first_line(failure)
        on_end(TaskEnd(spec.connector, spec.task, spec.generation, error))

    def _submit(self, spec: TaskSpec) -> None:
        context = self._context
        if context is None:
            raise ConnectError(self._failure or "Spark is stopped")
        self._ship(context, spec)
        context.setJobGroup(_group(spec.connector, spec.task), f"{spec.name} ({spec.connector_class})", True)
        from hearth.spark.executor import run

        context.parallelize([spec.to_json()], 1).mapPartitions(run).collect()

    def _ship(self, context: Any, spec: TaskSpec) -> None:
        if _is_local(self._settings["spark.master"]):
            return
        with self._lock:
            for key, environment in spec.environments.items():
                if key not in self._shipped:
                    ship(context, environment)
                    self._shipped.add(key)

    def _end_jvm(self, grace: float) -> None:
        jvm = self._jvm
        if jvm is None:
            return
        from pyspark import SparkContext

        if SparkContext._gateway is not None:
            with contextlib.suppress(Exception):
                SparkContext._gateway.shutdown()
            SparkContext._gateway = SparkContext._jvm = None
        if jvm.stdin is not None:
            with contextlib.suppress(OSError):
                jvm.stdin.close()  # the JVM ends with its input
        try:
            jvm.wait(grace)
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()


def _group(connector: str, task: int) -> str:
    return f"{connector}-{task}"


def _import_path() -> list[str]:
    """Return what makes this process's own packages importable in Spark's Python workers."""
    import hearth_api

    return [str(Path(hearth_api.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]


def _first_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
