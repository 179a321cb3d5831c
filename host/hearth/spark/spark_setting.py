"""What Spark is told when it starts: Hearth's defaults, the worker's keys, and what follows from both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from hearth.config.capacity_key import Capacity
from hearth.runtime.task_log import READ_BY_HOST
from hearth.spark.address import LOOPBACK, listening_address, own_address
from hearth.spark.driver import driver_archive, is_local
from hearth.spark.executor_set import starting_settings
from hearth.spark.standalone_master import AUTHENTICATE, ENCRYPT, FALL_BACK, SECRET, is_on

SLOTS = 512
"""Slots of the local default: a slot is a thread that waits, so many are cheap."""
PAGE = "spark.ui.enabled"
_COMPILE_LITTLE = "-XX:TieredStopAtLevel=1"
"""No record flows through a JVM: it is there sooner, and needs half the processor for that."""
_FLAGS = f"{_COMPILE_LITTLE} -XX:+UseSerialGC -XX:-UsePerfData -Xss512k -Xmn32m"
"""What is new has 32 MB: Java would give it a third of the heap, and touch all of that before it clears away."""
_EXECUTOR_OPTIONS = "spark.executor.defaultJavaOptions"
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_DEFAULTS = {
    "spark.app.name": "hearth",
    "spark.master": f"local[{SLOTS}]",
    "spark.python.daemon.module": "hearth.spark.daemon",
    # Who has run a task keeps threads of its libraries, and nothing can be forked from it that tasks would share; a
    # fork of the daemon costs some milliseconds, and an idle worker 10 MB.
    "spark.python.worker.reuse": "false",
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
    # A cancelled Python worker is killed at once: whoever cancels has given the task its time to end.
    "spark.python.task.killTimeout": "100ms",
    "spark.ui.killEnabled": "false",
    # What begins within a tenth of a second of something else Spark notes ten seconds later where nothing follows, as
    # in a job of one long task: `SlotWatch` would take a task that runs for one that waits.
    "spark.ui.liveUpdate.period": "0s",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "1000",
}


_LOCAL = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    # Spark makes a secret for the ports of its driver, which nobody else has any business at.
    AUTHENTICATE: "true",
    ENCRYPT: "true",
    # Executors write where the driver's JVM does, whose output is the host's to read.
    f"spark.executorEnv.{READ_BY_HOST}": "true",
    PAGE: "false",  # it is opened later
    # Spark takes a thread for each slot to answer what its own parts say to each other: 500 that have nothing to do.
    "spark.rpc.netty.dispatcher.numThreads": "4",
}
_CLUSTER = {
    # Spark's page asks nobody who he is and listens on every address.
    PAGE: "false",
    # Who leads after a host that has died waits for its executors. `spark.executor.extraJavaOptions` come behind it.
    _EXECUTOR_OPTIONS: f"-XX:+IgnoreUnrecognizedVMOptions {_COMPILE_LITTLE}",
}


def spark_settings(worker: Mapping[str, str], capacity: Capacity | None = None) -> dict[str, str]:
    """Return Spark's configuration: Hearth's defaults, then every ``spark.*`` key of the worker.

    A ``capacity`` says how many executors a cluster gives.
    """
    own = {key: value for key, value in worker.items() if key.startswith("spark.")}
    settings = {**_DEFAULTS, **own}
    settings = {**(_LOCAL if is_local(settings) else _CLUSTER), **settings}
    if capacity is not None and not is_local(settings):
        settings = {**settings, **starting_settings(capacity)}
    if is_on(settings, ENCRYPT):
        settings.setdefault(FALL_BACK, "false")  # or anybody on the way could have both sides speak in clear
    settings.setdefault("spark.driver.host", own_address(settings["spark.master"]))
    settings.setdefault("spark.driver.bindAddress", listening_address(settings["spark.driver.host"]))
    if settings["spark.driver.host"] == LOOPBACK and settings.get(_EXECUTOR_OPTIONS) == _CLUSTER[_EXECUTOR_OPTIONS]:
        # Executors are on this machine, and find the classes that a driver has: half of what their start takes.
        settings[_EXECUTOR_OPTIONS] = " ".join((_CLUSTER[_EXECUTOR_OPTIONS], *driver_archive().options()))
    options = f"{_FLAGS} -Dlog4j2.configurationFile=file:{_LOG_CONFIGURATION}"
    settings["spark.driver.extraJavaOptions"] = f"{options} {own.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def exposure(settings: Mapping[str, str]) -> str | None:
    """Return what to say where tokens of tasks cross a network that anybody may read, else ``None``."""
    is_encrypted = is_on(settings, ENCRYPT) or is_on(settings, "spark.authenticate.enableSaslEncryption")
    is_private = is_on(settings, "spark.ssl.rpc.enabled") or (is_on(settings, AUTHENTICATE) and is_encrypted)
    if is_local(settings) or is_private:
        return None
    return (
        f"tasks travel to {settings['spark.master']} in clear, with the tokens for which this host tells them the "
        f"passwords of their connectors: set {AUTHENTICATE}=true, {ENCRYPT}=true and {SECRET}, here and on the cluster"
    )


def link_host(settings: Mapping[str, str]) -> str:
    """Return the address of this host that tasks are told."""
    return settings["spark.driver.host"].strip("[]")  # in which Spark wants an IPv6 address


def link_listen(settings: Mapping[str, str]) -> str:
    """Return the address of this host on which it listens for tasks."""
    return settings["spark.driver.bindAddress"].strip("[]")
