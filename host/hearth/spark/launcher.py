"""The launcher that puts tasks on Spark."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hearth.runtime.launcher import TaskEnd
from hearth.runtime.spec import TaskSpec
from hearth.spark.driver import Driver, is_local, reason_of
from hearth.spark.shipment import ship
from hearth.spark.warmth import keep_warm, warm_up
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
    # A task that fails by its own doing ends quietly, so what Spark counts are lost executors and workers that do not
    # even start. The first it mends at once; the second has to come before the herder, who tells the user.
    "spark.task.maxFailures": "4",
    "spark.stage.maxConsecutiveAttempts": "2147483647",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.scheduler.mode": "FAIR",
    # Arrow's own allocator keeps what it once had: with the system's a pipeline holds a quarter less memory
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "2",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": "4194304",
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": "4194304",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "1000",
}


def spark_settings(worker: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's configuration: Hearth's defaults, then every ``spark.*`` key of the worker."""
    own = {key: value for key, value in worker.items() if key.startswith("spark.")}
    settings = {**_DEFAULTS, **own}
    if is_local(settings):
        settings.setdefault("spark.driver.host", "127.0.0.1")
        settings.setdefault("spark.driver.bindAddress", "127.0.0.1")
    options = f"{_FLAGS} -Dlog4j2.configurationFile=file:{_LOG_CONFIGURATION}"
    settings["spark.driver.extraJavaOptions"] = f"{options} {own.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def link_host(worker: Mapping[str, str]) -> str:
    """Return the address of this host on which tasks reach it."""
    return spark_settings(worker).get("spark.driver.host") or "127.0.0.1"


class SparkLauncher:
    """Runs each Connect task as a Spark job of one partition, in a job group of its own."""

    def __init__(self, worker: Mapping[str, str], on_error: Callable[[str], None] | None = None) -> None:
        self._settings = spark_settings(worker)
        self._on_error = on_error or (lambda text: log.error("%s", text))
        self._ready = threading.Event()
        self._driver: Driver | None = None
        self._failure: str | None = None
        self._shipped: set[str] = set()
        self._lock = threading.Lock()
        self._stopping = False

    def start(self) -> None:
        """Begin to start Spark; returns at once, tasks launched meanwhile wait for it."""
        threading.Thread(target=self._start, name="spark-start", daemon=True).start()

    @property
    def ui_url(self) -> str | None:
        """Return the address of Spark's own page once Spark is up."""
        driver = self._driver
        return None if driver is None else driver.context.uiWebUrl

    def wait_until_ready(self, timeout: float | None = None) -> bool:
        """Wait until Spark takes tasks; returns whether it does."""
        return self._ready.wait(timeout) and self._failure is None

    def launch(self, spec: TaskSpec, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task as a Spark job; ``on_end`` hears when the job is over."""
        threading.Thread(target=self._run, args=(spec, on_end), name=f"spark-{spec.name}", daemon=True).start()

    def cancel(self, connector: str, task: int) -> None:
        """Cancel the Spark job of a task, whose Python worker is then killed."""
        driver = self._driver
        if driver is not None:
            with contextlib.suppress(Exception):  # a context that is going away has cancelled it already
                driver.context.cancelJobGroup(_group(connector, task))

    def rehearse(self) -> None:
        """Run an empty task, so that all a task needs has been loaded once."""
        assert self._driver is not None, "Spark has to be ready"
        warm_up(self._driver.context, 1)

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to end; every task's process ends with it."""
        with self._lock:
            self._stopping = True
            driver, self._driver = self._driver, None
        if driver is not None:
            driver.stop(grace)

    def _start(self) -> None:
        try:
            driver = Driver(self._settings)
        except Exception as error:
            self._failure = f"Spark did not start: {reason_of(error)}"
            self._on_error(self._failure)
            self._ready.set()
            return
        with self._lock:
            if not self._stopping:
                self._driver = driver
        if self._driver is not driver:
            driver.stop()
        self._ready.set()
        if not is_local(self._settings):
            keep_warm(driver.context)

    def _run(self, spec: TaskSpec, on_end: Callable[[TaskEnd], None]) -> None:
        error = None
        self._ready.wait()
        driver = self._driver
        try:
            self._submit(driver, spec)
        except Exception as failure:
            error = reason_of(failure)
            if driver is not None and driver.has_ended(failure):
                self._replace(driver)
        on_end(TaskEnd(spec.connector, spec.task, spec.generation, error))

    def _replace(self, ended: Driver) -> None:
        """Start Spark anew where its JVM is gone; tasks launched from now on wait for the new one."""
        with self._lock:
            if self._driver is not ended or self._stopping:
                return
            self._driver = None
            self._shipped.clear()
            self._ready.clear()
        log.error("Spark's JVM ended unexpectedly, another one is started")
        ended.stop()
        self.start()

    def _submit(self, driver: Driver | None, spec: TaskSpec) -> None:
        if driver is None:
            raise ConnectError(self._failure or "Spark is stopped")
        context = driver.context
        self._ship(context, spec)
        context.setJobGroup(_group(spec.connector, spec.task), f"{spec.name} ({spec.connector_class})", True)
        from hearth.spark.executor import run

        context.parallelize([spec.to_json()], 1).mapPartitions(run).collect()

    def _ship(self, context: Any, spec: TaskSpec) -> None:
        if is_local(self._settings):
            return
        with self._lock:
            for key, environment in spec.environments.items():
                if key not in self._shipped:
                    ship(context, environment)
                    self._shipped.add(key)


def _group(connector: str, task: int) -> str:
    return f"{connector}-{task}"
