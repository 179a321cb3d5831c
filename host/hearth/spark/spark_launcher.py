"""The launcher that puts tasks on Spark."""

from __future__ import annotations

import contextlib
import logging
import queue
import re
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hearth.config.capacity_key import COUNT, LEAST, MOST, OTHER_COUNTS, Capacity
from hearth.link.link_call import ExecutorUsage
from hearth.runtime.launcher import RunLoss, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.runtime.task_log import READ_BY_HOST
from hearth.spark.address import LOOPBACK, listening_address, own_address, silence_of
from hearth.spark.autoscaler import Autoscaler
from hearth.spark.driver import Driver, driver_archive, executors_python, is_local, reason_of
from hearth.spark.environment_archive import ship
from hearth.spark.executor import nothing
from hearth.spark.executor_set import ALL, NONE_YET, ExecutorSet, starting_settings
from hearth.spark.host_archive import NAME as HOST_KEY
from hearth.spark.host_archive import ship_host
from hearth.spark.page import open_page
from hearth.spark.prewarm import keep_warm
from hearth.spark.setting_name import misspelled
from hearth.spark.slot import SlotWatch
from hearth.spark.standalone_application import StandaloneApplication, Term
from hearth.spark.standalone_master import AUTHENTICATE, ENCRYPT, FALL_BACK, SECRET, is_on
from hearth_api import ConnectError

log = logging.getLogger(__name__)

SLOTS = 512
"""Slots of the local default: a slot is a thread that waits, so many are cheap."""
LAUNCHERS = 2
"""How many tasks are handed to Spark at the same time: more would only wait for each other."""

PAGE_SECONDS = 2.0
"""How long Spark takes tasks before its page is opened."""

_PAGE = "spark.ui.enabled"
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
    _PAGE: "false",  # it is opened later
    # Spark takes a thread for each slot to answer what its own parts say to each other: 500 that have nothing to do.
    "spark.rpc.netty.dispatcher.numThreads": "4",
}
_CLUSTER = {
    # Spark's page asks nobody who he is and listens on every address.
    _PAGE: "false",
    # Who leads after a host that has died waits for its executors. `spark.executor.extraJavaOptions` come behind it.
    _EXECUTOR_OPTIONS: f"-XX:+IgnoreUnrecognizedVMOptions {_COMPILE_LITTLE}",
}

_PACKAGES = re.compile(r"No module named|module specification for")
"""What Spark says of executors whose Python lacks what the daemon of its workers imports."""
_PYTHON = re.compile(rf"{_PACKAGES.pattern}|PYTHON_VERSION_MISMATCH|Cannot run program")
"""What Spark says of executors whose Python is not there, or is not this host's, as well."""


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


class SparkLauncher:
    """Runs each Connect task as a Spark job of one partition, in a job group of its own.

    A few threads submit the jobs, and nobody waits for one.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        on_error: Callable[[str], None] | None = None,
        capacity: Capacity | None = None,
    ) -> None:
        """With a ``capacity`` it says how many executors there are, and on which of them a task runs."""
        self.settings = spark_settings(worker, capacity)
        self._capacity = None if is_local(self.settings) else capacity
        self._is_capacity_idle = capacity is not None and self._capacity is None
        is_counted = is_on(worker, "spark.dynamicAllocation.enabled") or any(key in worker for key in OTHER_COUNTS)
        self._is_standalone = self.settings["spark.master"].startswith("spark://")
        self.can_stand_by = self._is_standalone and not is_counted
        """Whether Spark can be there before it takes anything that others could use."""
        self._tasks = _Tasks()
        self._executors: ExecutorSet | None = None
        self._autoscaler: Autoscaler | None = None
        self._opens_page = is_local(self.settings) and _PAGE not in worker
        self._given = [key for key in worker if key.startswith("spark.")]
        self._on_error = on_error or (lambda text: log.error("%s", text))
        self._ready = threading.Event()
        self._term: Term | None = None
        self._driver: Driver | None = None
        self._prepared: Driver | None = None
        self._is_begun = False
        self._launches: queue.SimpleQueue[_Launch | None] = queue.SimpleQueue()
        self._starter: threading.Thread | None = None
        self._wanted: dict[str, _Launch] = {}
        """What is launched and not submitted yet, by its job group."""
        self._failure: str | None = None
        self._shipped: set[str] = set()
        self._shipping = threading.Lock()
        self._is_code_missing = False
        """Whether executors were met that lack what tasks are run by, so that it has to travel as well."""
        self._slots = SlotWatch(self.settings, capacity=self._capacity)
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def prepare(self) -> None:
        """Begin to start Spark's JVM, and no more: a cluster gives nothing for it, and Spark starts sooner then."""
        self._stopping.clear()
        self._starter = threading.Thread(target=self._prepare, name="spark-prepare", daemon=True)
        self._starter.start()

    def stand_by(self, term: Term) -> bool:
        """Begin to start Spark as in a term, but for executors, so that it has nothing but these to wait for then.

        Returns whether it did, and not where Spark starts already. It was prepared before.
        """
        with self._lock:
            if self._is_begun or self._stopping.is_set():
                return False
            preparing = self._starter
            assert preparing is not None, "it was prepared"
            work = threading.Thread(target=self._stand_by, args=[preparing, term], name="spark-stand-by", daemon=True)
            self._starter = work
            work.start()
            return True

    def start(self, term: Term | None = None) -> None:
        """Begin to start Spark, also anew after a stop; returns at once, tasks launched meanwhile wait for it.

        A host that leads others says in which term: on a standalone cluster nothing of an earlier one stays.
        """
        with self._lock:
            self._is_begun = True
        if self._starter is not None:
            self._starter.join()  # what was still starting when it was stopped has cleared away after itself
        with self._lock:
            self._term = term
            self._launches, self._failure = queue.SimpleQueue(), None
            self._shipped.clear()
            self._ready.clear()
            self._stopping.clear()
        if (warning := exposure(self.settings)) is not None:
            log.warning("%s", warning)
        if self._is_capacity_idle:
            log.warning("%s, %s and %s have no effect with spark.master=%s: all tasks run in one executor, on this "
                        "machine", COUNT, LEAST, MOST, self.settings["spark.master"])  # fmt: skip
        for _ in range(LAUNCHERS):
            threading.Thread(target=self._submit_all, args=[self._launches], name="spark-launch", daemon=True).start()
        self._begin()

    def _begin(self) -> None:
        self._starter = threading.Thread(target=self._start, name="spark-start", daemon=True)
        self._starter.start()

    def attend(self, move: Callable[[str, int], bool], usage: Callable[[str, int], ExecutorUsage]) -> None:
        """Know from now on how a task, by connector and number, is moved, and what its executor takes."""
        self._tasks.move_task, self._tasks.usage_by = move, usage

    def wait_until_ready(self, timeout: float | None = None) -> bool:
        """Wait until Spark takes tasks; returns whether it does."""
        return self._ready.wait(timeout) and self._failure is None

    @property
    def is_warm(self) -> bool:
        """Return whether Spark has started, or all of it that may be there before it is wanted."""
        prepared = self._prepared
        if self._ready.is_set() or prepared is None:
            return self._ready.is_set()
        return prepared.has_application if self.can_stand_by else prepared.is_prepared

    def launch(self, launch: TaskLaunch, plan: TaskPlan, on_end: Callable[[TaskEnd], None]) -> None:
        """Run a task as a Spark job; ``on_end`` hears when the job is over."""
        added = self._wanted[_group(plan.connector, plan.task)] = _Launch(launch, plan, on_end)
        self._launches.put(added)

    def has_begun(self, connector: str, task: int) -> None:
        """Take note that a task waits for no slot any more."""
        self._slots.placed(_group(connector, task))

    def cancel(self, connector: str, task: int) -> None:
        """Cancel the Spark job of a task, whose Python worker Spark then kills within seconds."""
        self._wanted.pop(_group(connector, task), None)
        driver = self._driver
        if driver is not None:
            with contextlib.suppress(Exception):  # a context that is going away has cancelled it already
                driver.context.cancelJobGroup(_group(connector, task))

    def rehearse(self) -> None:
        """Run an empty task as any task is run, so that all a task needs has been loaded once."""
        driver, ended = self._driver, threading.Event()
        assert driver is not None, "Spark has to be ready"
        assert driver.jobs is not None, "it is made with a Spark"
        driver.jobs.prepared(driver.context, nothing)([], lambda _told, _failure: ended.set())
        ended.wait()
        open_page(driver.context)

    def begin_stop(self) -> None:
        """Begin no other Spark; this one, and all that runs on it, goes on until `stop`."""
        self._stopping.set()

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to end; every task's process ends with it."""
        with self._lock:
            self._stopping.set()
            self._is_begun = False
            drivers = [each for each in (self._driver, self._prepared) if each is not None]
            self._driver = self._prepared = None
            self._close_autoscaler()
        for _ in range(LAUNCHERS):
            self._launches.put(None)
        for driver in drivers:
            driver.stop(grace)
        if drivers and self._starter is not None:
            self._starter.join(grace)  # where it was still starting, it has something to clear away

    def _prepare(self) -> None:
        driver = Driver(self.settings)
        with self._lock:
            if self._stopping.is_set():
                return
            self._prepared = driver
        try:
            driver.prepare()
        except Exception as error:
            log.warning("Spark's JVM did not start beforehand: %s", reason_of(error))

    def _stand_by(self, preparing: threading.Thread, term: Term) -> None:
        preparing.join()
        if self._prepared is None or not self._prepared.is_prepared:
            self._prepare()
        driver = self._prepared
        if driver is None or silence_of(self.settings["spark.master"]) is not None:
            return
        try:
            driver.start(self._application(term))
            ExecutorSet(driver.context)
        except Exception as error:
            if not driver.is_over.is_set():
                log.warning("Spark did not start beforehand: %s", reason_of(error))

    def _application(self, term: Term | None) -> dict[str, str]:
        """Return what an application is begun with beside what all are."""
        return {} if term is None else {**term.settings(), **(NONE_YET if self.can_stand_by else {})}

    def _start(self) -> None:
        with self._lock:
            if self._stopping.is_set():
                return
            prepared, self._prepared = self._prepared, None
            is_ready = prepared is not None and prepared.is_prepared
            driver = prepared if prepared is not None and is_ready else Driver(self.settings)
            self._driver = driver
        if prepared is not None and not is_ready:
            prepared.stop(0)
        application = self._application(self._term)
        try:
            driver.await_master()
            driver.start(application)
            executors = self._ask_for_executors(driver, application)
        except Exception as error:
            self._give_up(f"Spark did not start: {reason_of(error)}")
            return
        self._ready.set()
        if self._is_standalone:
            watched, name = (driver, executors), "spark-application"
            threading.Thread(target=self._watch_master, args=watched, name=name, daemon=True).start()
        threading.Thread(target=self._slots.watch, args=(driver.context,), name="spark-slots", daemon=True).start()
        with contextlib.suppress(Exception):  # a context that is going away answers nothing
            for text in misspelled(driver.context, self._given):
                log.warning("%s", text)
            if driver.context.uiWebUrl is not None:
                _tell_of_page(driver.context.uiWebUrl)
        if self._opens_page:
            self._open_page(driver)
        if not is_local(self.settings):
            keep_warm(driver.context, self._explained)

    def _ask_for_executors(self, driver: Driver, application: Mapping[str, str]) -> ExecutorSet | None:
        """Have as many executors as there are to be; returns them, None where Spark decides for itself."""
        if self._capacity is None and not NONE_YET.items() <= application.items():
            return None
        executors = ExecutorSet(driver.context)
        if self._capacity is not None:
            self._scale(driver, executors, self._capacity)
        else:
            executors.ask_for(ALL)
        return executors

    def _scale(self, driver: Driver, executors: ExecutorSet, capacity: Capacity) -> None:
        autoscaler = Autoscaler(capacity, executors, self._tasks, self._slots.late)
        with self._lock:
            if self._driver is not driver:
                return
            self._close_autoscaler()
            self._executors, self._autoscaler = executors, autoscaler
        threading.Thread(target=autoscaler.run, name="autoscaler", daemon=True).start()

    def _close_autoscaler(self) -> None:
        if self._autoscaler is not None:
            self._autoscaler.close()
        self._executors = self._autoscaler = None

    def _watch_master(self, driver: Driver, executors: ExecutorSet | None) -> None:
        """Start Spark anew where its master knows it no more; a JVM is made ready while tasks still run."""
        on_met = None if executors is None else executors.ask_again
        with contextlib.suppress(Exception):  # the context has gone away, and nothing is to be seen to any more
            application = StandaloneApplication(driver.context, self.settings["spark.master"], self._term)
            application.watch(self._prepare, lambda: self._replace(driver), driver.is_over, on_met)

    def _open_page(self, driver: Driver) -> None:
        """Open Spark's page in a while: the first tasks come before it."""
        if self._stopping.wait(PAGE_SECONDS):
            return
        try:
            _tell_of_page(open_page(driver.context))
        except Exception as error:
            if not driver.has_ended(error):
                log.warning("Spark has no page: %s", reason_of(error))

    def _give_up(self, reason: str) -> None:
        """Take note that there is no Spark; what waits for it hears why, and so does the host unless it stops it."""
        with self._lock:
            self._driver, self._failure = None, reason
        self._ready.set()
        if not self._stopping.is_set():
            self._on_error(reason)

    def _submit_all(self, launches: queue.SimpleQueue[_Launch | None]) -> None:
        """Submit what is launched and still wanted, as soon as Spark takes tasks."""
        while (launch := launches.get()) is not None:
            self._ready.wait()
            group = _group(launch.plan.connector, launch.plan.task)
            if self._wanted.get(group) is not launch:
                launch.end(None)
                continue
            self._wanted.pop(group, None)
            driver = self._driver
            try:
                self._submit(driver, launch, group)
            except Exception as failure:
                if driver is not None:
                    self._after(driver, failure)
                launch.end(RunLoss(self._explained(reason_of(failure))))

    def _after(self, driver: Driver, failure: Exception) -> None:
        """Start Spark anew where it has ended, as something that failed makes one think."""
        if driver.has_ended(failure):
            self._replace(driver)

    def _explained(self, reason: str) -> str:
        """Return a reason with the key that mends it, where it is the Python of the executors.

        Where they lack packages these travel before the next task does.
        """
        if not _PYTHON.search(reason):
            return reason
        if _PACKAGES.search(reason) and HOST_KEY not in self._shipped and not is_local(self.settings):
            self._is_code_missing = True
            return f"{reason}\nexecutors lack packages that tasks are run by, which are sent to them"
        own = f"{sys.version_info.major}.{sys.version_info.minor}"
        return (
            f"{reason}\nexecutors run {executors_python(self.settings)}, which has to be Python {own}, "
            "as on this host; spark.pyspark.python names another"
        )

    def _replace(self, ended: Driver) -> None:
        """Start Spark anew where it has ended; tasks launched from now on wait for the new one."""
        with self._lock:
            if self._driver is not ended or self._stopping.is_set():
                return
            self._driver = None
            self._shipped.clear()
            self._ready.clear()
            self._close_autoscaler()
        log.error("Spark ended unexpectedly, another one is started")
        ended.stop(0)
        self._begin()

    def _submit(self, driver: Driver | None, launch: _Launch, group: str) -> None:
        """Begin to run a task; whoever launched it hears why it could not begin, if so, or of its end."""
        if driver is None:
            raise ConnectError(self._failure or "Spark is stopped")
        context, plan = driver.context, launch.plan
        self._ship(context, plan)
        # A cancelled task is not interrupted in the JVM: its thread would spin until Spark kills the Python worker.
        context.setJobGroup(group, f"{plan.name} ({plan.connector_class})", False)

        executors = self._executors

        def end(told: list[Any], failure: Exception | None) -> None:
            self._slots.placed(group)
            if executors is not None:
                executors.ended(group)
            if failure is None:
                launch.end(next(map(RunLoss.from_json, told), None))
                return
            self._after(driver, failure)
            launch.end(RunLoss(self._explained(reason_of(failure))))

        self._slots.submitted(group)
        try:
            driver.run_task([launch.launch.to_json()], end, None if executors is None else executors.prefer(group))
        except Exception:
            self._slots.placed(group)
            if executors is not None:
                executors.ended(group)
            raise

    def _ship(self, context: Any, plan: TaskPlan) -> None:
        if is_local(self.settings):
            return
        with self._shipping:
            if self._is_code_missing and HOST_KEY not in self._shipped:
                log.info("executors have no Hearth of their own: it is sent to them, with the packages that it needs")
                ship_host(context)
                self._shipped.add(HOST_KEY)
            for key, environment in plan.environments.items():
                if key not in self._shipped:
                    ship(context, environment)
                    self._shipped.add(key)


@dataclass(frozen=True)
class _Launch:
    """A task that is to be run, and who hears of its end."""

    launch: TaskLaunch
    plan: TaskPlan
    on_end: Callable[[TaskEnd], None]

    def end(self, loss: RunLoss | None) -> None:
        """Tell that the run is over, and why where that was not the task's own end."""
        self.on_end(TaskEnd(self.launch.connector, self.launch.task, self.launch.generation, loss))


class _Tasks:
    """The tasks by their job groups, once somebody has said how they are moved and asked."""

    move_task: Callable[[str, int], bool] = staticmethod(lambda connector, task: False)
    usage_by: Callable[[str, int], ExecutorUsage] | None = None

    def move(self, group: str) -> bool:
        """Let a task drain and begin elsewhere."""
        connector, _, task = group.rpartition("-")
        return self.move_task(connector, int(task))

    def usage(self, group: str) -> ExecutorUsage:
        """Ask a task what its executor takes."""
        if self.usage_by is None:
            raise ConnectError("nobody can be asked yet", code="task.unlinked")
        connector, _, task = group.rpartition("-")
        return self.usage_by(connector, int(task))


def _tell_of_page(address: str) -> None:
    log.info("Spark's own page is at %s", address)


def _group(connector: str, task: int) -> str:
    return f"{connector}-{task}"
