"""Spark's settings: Hearth's defaults, the worker's keys, and settings derived from both."""

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
"""Slots of the local default; a slot is only a waiting thread, so many are cheap."""
PAGE = "spark.ui.enabled"
_COMPILE_LITTLE = "-XX:TieredStopAtLevel=1"
"""No record flows through a JVM, so C1 is enough: it starts sooner and with half the CPU."""
_FLAGS = f"{_COMPILE_LITTLE} -XX:+UseSerialGC -XX:-UsePerfData -Xss512k -Xmn32m"
"""The young generation has 32 MB: by default it has a third of the heap, and fills that before it collects."""
_EXECUTOR_OPTIONS = "spark.executor.defaultJavaOptions"
_LOG_CONFIGURATION = Path(__file__).with_name("log4j2.properties")

_DEFAULTS = {
    "spark.app.name": "hearth",
    "spark.master": f"local[{SLOTS}]",
    "spark.python.daemon.module": "hearth.spark.daemon",
    # A used worker keeps threads of its libraries, so nothing that tasks share can be forked from it; a fork of the
    # daemon takes milliseconds, and an idle worker 10 MB.
    "spark.python.worker.reuse": "false",
    # A Connect task that fails ends its Spark task normally, so Spark counts only lost executors and workers that do
    # not start. Spark handles the first at once; the second must reach the herder, which reports it to the user.
    "spark.task.maxFailures": "4",
    "spark.stage.maxConsecutiveAttempts": "2147483647",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "512m",
    "spark.scheduler.mode": "FAIR",
    # Arrow's own allocator keeps freed memory: with the system's a pipeline holds a quarter less
    "spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL": "system",
    "spark.executorEnv.MALLOC_ARENA_MAX": "2",
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": "4194304",
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": "4194304",
    # A cancelled Python worker is killed at once: the task has had its time to end before.
    "spark.python.task.killTimeout": "100ms",
    "spark.ui.killEnabled": "false",
    # By default Spark records the start of a task up to ten seconds late if another event came within 100 ms before
    # and none follows, as in a job of one long task: `SlotWatch` would take a running task for a waiting one.
    "spark.ui.liveUpdate.period": "0s",
    "spark.ui.retainedJobs": "200",
    "spark.ui.retainedStages": "200",
    "spark.ui.retainedTasks": "1000",
}


_LOCAL = {
    "spark.driver.host": LOOPBACK,
    "spark.driver.bindAddress": LOOPBACK,
    # Spark generates a secret for the ports of its driver, which no other process needs to use.
    AUTHENTICATE: "true",
    ENCRYPT: "true",
    # Executors write to the output of the driver's JVM, which the host reads.
    f"spark.executorEnv.{READ_BY_HOST}": "true",
    PAGE: "false",  # opened later
    # Spark would start an RPC thread for each slot: 500 idle threads.
    "spark.rpc.netty.dispatcher.numThreads": "4",
}
_CLUSTER = {
    # Spark's UI has no authentication and listens on every address.
    PAGE: "false",
    # A new leader waits for its executors. `spark.executor.extraJavaOptions` come after this.
    _EXECUTOR_OPTIONS: f"-XX:+IgnoreUnrecognizedVMOptions {_COMPILE_LITTLE}",
}


def spark_settings(worker: Mapping[str, str], capacity: Capacity | None = None) -> dict[str, str]:
    """Return Spark's configuration: Hearth's defaults, then every ``spark.*`` key of the worker.

    ``capacity`` is the number of executors on a cluster.
    """
    own = {key: value for key, value in worker.items() if key.startswith("spark.")}
    settings = {**_DEFAULTS, **own}
    settings = {**(_LOCAL if is_local(settings) else _CLUSTER), **settings}
    if capacity is not None and not is_local(settings):
        settings = {**settings, **starting_settings(capacity)}
    if is_on(settings, ENCRYPT):
        settings.setdefault(FALL_BACK, "false")  # or an attacker could downgrade both sides to clear text
    settings.setdefault("spark.driver.host", own_address(settings["spark.master"]))
    settings.setdefault("spark.driver.bindAddress", listening_address(settings["spark.driver.host"]))
    if settings["spark.driver.host"] == LOOPBACK and settings.get(_EXECUTOR_OPTIONS) == _CLUSTER[_EXECUTOR_OPTIONS]:
        # Executors on this machine use the driver's class archive, which halves their start.
        settings[_EXECUTOR_OPTIONS] = " ".join((_CLUSTER[_EXECUTOR_OPTIONS], *driver_archive().options()))
    options = f"{_FLAGS} -Dlog4j2.configurationFile=file:{_LOG_CONFIGURATION}"
    settings["spark.driver.extraJavaOptions"] = f"{options} {own.get('spark.driver.extraJavaOptions', '')}".strip()
    return settings


def exposure(settings: Mapping[str, str]) -> str | None:
    """Return a warning if the tokens of tasks cross a network unencrypted, else ``None``."""
    is_encrypted = is_on(settings, ENCRYPT) or is_on(settings, "spark.authenticate.enableSaslEncryption")
    is_private = is_on(settings, "spark.ssl.rpc.enabled") or (is_on(settings, AUTHENTICATE) and is_encrypted)
    if is_local(settings) or is_private:
        return None
    return (
        f"tasks are sent to {settings['spark.master']} unencrypted, with tokens that give access to the passwords of "
        f"their connectors: set {AUTHENTICATE}=true, {ENCRYPT}=true and {SECRET}, here and on the cluster"
    )


def link_host(settings: Mapping[str, str]) -> str:
    """Return the address at which tasks reach this host."""
    return settings["spark.driver.host"].strip("[]")  # Spark's notation of an IPv6 address


def link_listen(settings: Mapping[str, str]) -> str:
    """Return the address of this host on which it listens for tasks."""
    return settings["spark.driver.bindAddress"].strip("[]")
