"""The Spark application of a host: prepares, starts, watches and restarts it."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping

from hearth.config.capacity_key import COUNT, LEAST, MOST, OTHER_COUNTS, Capacity
from hearth.spark.address import silence_of
from hearth.spark.autoscaler import Autoscaler, Tasks
from hearth.spark.driver import Driver, is_local, reason_of
from hearth.spark.executor_artifact import ExecutorArtifacts
from hearth.spark.executor_set import ALL, NONE_YET, ExecutorSet
from hearth.spark.page import open_page
from hearth.spark.prewarm import keep_warm
from hearth.spark.setting_name import misspelled
from hearth.spark.slot import SlotWatch
from hearth.spark.spark_setting import PAGE, exposure, spark_settings
from hearth.spark.standalone_application import StandaloneApplication, Term
from hearth.spark.standalone_master import is_on

log = logging.getLogger(__name__)

PAGE_SECONDS = 2.0
"""Spark's UI is opened once no task was launched for this time."""
PAGE_LOOKS = 5
"""How often that time is awaited before the UI is opened in any case."""


class SparkApplication:
    """Keeps one driver running between start and stop.

    Everything slow happens on separate threads.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        tasks: Tasks,
        capacity: Capacity | None = None,
    ) -> None:
        """Scale executors within ``capacity`` if given; ``tasks`` are the tasks that run on them."""
        self.settings = spark_settings(worker, capacity)
        self._capacity = None if is_local(self.settings) else capacity
        self._is_capacity_idle = capacity is not None and self._capacity is None
        is_counted = is_on(worker, "spark.dynamicAllocation.enabled") or any(key in worker for key in OTHER_COUNTS)
        self._is_standalone = self.settings["spark.master"].startswith("spark://")
        self.can_stand_by = self._is_standalone and not is_counted
        """Whether the application can start without taking resources of the cluster."""
        self.slots = SlotWatch(self.settings, capacity=self._capacity)
        self.artifacts = ExecutorArtifacts(self.settings)
        self.driver: Driver | None = None
        """The driver that tasks are submitted to, set from the start of its start."""
        self.executors: ExecutorSet | None = None
        """The executors and their tasks; None without a ``capacity``."""
        self.failure: str | None = None
        """The reason why the driver did not start."""
        self._tasks = tasks
        self._autoscaler: Autoscaler | None = None
        self._opens_page = is_local(self.settings) and PAGE not in worker
        self._given = [key for key in worker if key.startswith("spark.")]
        self.on_error: Callable[[str], None] = lambda text: log.error("%s", text)
        """Called with the reason if Spark does not start."""
        self._ready = threading.Event()
        self._term: Term | None = None
        self._prepared: Driver | None = None
        self._is_begun = False
        self._starter: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    # Start ----------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Begin to start only the JVM, which uses no resources of a cluster and makes a later start faster."""
        self._stopping.clear()
        self._starter = threading.Thread(target=self._prepare, name="spark-prepare", daemon=True)
        self._starter.start()

    def stand_by(self, term: Term) -> bool:
        """Begin to start an application for a term without executors, so that only these are missing later.

        Returns False if Spark is already starting. `prepare` was called before.
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
        """Begin to start Spark, also after a stop; returns at once.

        The leading host of a cluster passes its term: a standalone cluster then ends applications of earlier terms.
        """
        with self._lock:
            self._is_begun = True
        preparing = self._starter
        if preparing is not None and self._stopping.is_set():
            preparing.join()  # an interrupted start has cleaned up
        with self._lock:
            self._term, self.failure = term, None
            self.artifacts.begin_anew()
            self._ready.clear()
            self._stopping.clear()
        if (warning := exposure(self.settings)) is not None:
            log.warning("%s", warning)
        if self._is_capacity_idle:
            log.warning("%s, %s and %s have no effect with spark.master=%s: all tasks run in one executor, on this "
                        "machine", COUNT, LEAST, MOST, self.settings["spark.master"])  # fmt: skip
        self._begin(preparing)

    def wait_until_ready(self, timeout: float | None = None) -> bool:
        """Wait until Spark accepts tasks or has failed to start; returns whether it accepts them."""
        return self._ready.wait(timeout) and self.failure is None

    @property
    def is_warm(self) -> bool:
        """Return whether Spark has started, as far as it can before this host leads."""
        prepared = self._prepared
        if self._ready.is_set() or prepared is None:
            return self._ready.is_set()
        return prepared.has_application if self.can_stand_by else prepared.is_prepared

    def _prepare(self) -> None:
        driver = Driver(self.settings)
        with self._lock:
            if self._stopping.is_set():
                return
            self._prepared = driver
        try:
            driver.prepare()
        except Exception as error:
            if not driver.is_over.is_set():
                log.warning("Spark's JVM did not start in advance: %s", reason_of(error))

    def _stand_by(self, preparing: threading.Thread, term: Term) -> None:
        preparing.join()
        if self._prepared is None or not self._prepared.is_prepared:
            self._prepare()
        driver = self._prepared
        if driver is None or silence_of(self.settings["spark.master"]) is not None:
            return
        try:
            driver.start(self._settings_of(term))
            ExecutorSet(driver.context)
        except Exception as error:
            if not driver.is_over.is_set():
                log.warning("the standby Spark application did not start: %s", reason_of(error))

    def _settings_of(self, term: Term | None) -> dict[str, str]:
        """Return the settings of an application for a term, in addition to the common ones."""
        return {} if term is None else {**term.settings(), **(NONE_YET if self.can_stand_by else {})}

    def _begin(self, preparing: threading.Thread | None = None) -> None:
        self._starter = threading.Thread(target=self._start, args=[preparing], name="spark-start", daemon=True)
        self._starter.start()

    def _start(self, preparing: threading.Thread | None) -> None:
        if preparing is not None:
            preparing.join()
        with self._lock:
            if self._stopping.is_set():
                return
            prepared, self._prepared = self._prepared, None
            is_ready = prepared is not None and prepared.is_prepared
            driver = prepared if prepared is not None and is_ready else Driver(self.settings)
            self.driver = driver
        if prepared is not None and not is_ready:
            prepared.stop(0)
        settings = self._settings_of(self._term)
        try:
            driver.await_master()
            driver.start(settings)
            executors = self._ask_for_executors(driver, settings)
        except Exception as error:
            self._give_up(f"Spark did not start: {reason_of(error)}")
            return
        self._ready.set()
        self._see_to(driver, executors)

    def _ask_for_executors(self, driver: Driver, settings: Mapping[str, str]) -> ExecutorSet | None:
        """Request the executors and return them, or None if Spark's own allocation decides."""
        if self._capacity is None and not NONE_YET.items() <= settings.items():
            return None
        executors = ExecutorSet(driver.context)
        if self._capacity is not None:
            self._scale(driver, executors, self._capacity)
        else:
            executors.ask_for(ALL)
        return executors

    def _scale(self, driver: Driver, executors: ExecutorSet, capacity: Capacity) -> None:
        autoscaler = Autoscaler(capacity, executors, self._tasks, self.slots.late)
        with self._lock:
            if self.driver is not driver:
                return
            self._close_autoscaler()
            self.executors, self._autoscaler = executors, autoscaler
        threading.Thread(target=autoscaler.run, name="autoscaler", daemon=True).start()

    def _give_up(self, reason: str) -> None:
        """Record that Spark did not start; waiting tasks and, unless it is stopping, the host get the reason."""
        with self._lock:
            self.driver, self.failure = None, reason
        self._ready.set()
        if not self._stopping.is_set():
            self.on_error(reason)

    # While it runs --------------------------------------------------------------------------------------------

    def _see_to(self, driver: Driver, executors: ExecutorSet | None) -> None:
        """Start the watches of a new driver, and log its warnings and the address of its UI."""
        if self._is_standalone:
            watched, name = (driver, executors), "spark-application"
            threading.Thread(target=self._watch_master, args=watched, name=name, daemon=True).start()
        threading.Thread(target=self.slots.watch, args=(driver.context,), name="spark-slots", daemon=True).start()
        with contextlib.suppress(Exception):  # the context may be stopping
            for text in misspelled(driver.context, self._given):
                log.warning("%s", text)
            if driver.context.uiWebUrl is not None:
                _log_page(driver.context.uiWebUrl)
        if self._opens_page:
            self._open_page(driver)
        if not is_local(self.settings):
            keep_warm(driver.context, self.artifacts.explained)

    def _watch_master(self, driver: Driver, executors: ExecutorSet | None) -> None:
        """Restart Spark if its master no longer knows the application; prepare a JVM while tasks still run."""
        on_met = None if executors is None else executors.ask_again
        with contextlib.suppress(Exception):  # the context has stopped
            application = StandaloneApplication(driver.context, self.settings["spark.master"], self._term)
            application.watch(self._prepare, lambda: self.replace(driver), driver.is_over, on_met)

    def _open_page(self, driver: Driver) -> None:
        """Open Spark's UI once no more tasks are launched, so as not to delay the first ones."""
        assert driver.jobs is not None, "the driver has started"
        for _ in range(PAGE_LOOKS):
            before = driver.jobs.submitted
            if self._stopping.wait(PAGE_SECONDS):
                return
            if driver.jobs.submitted == before:
                break
        try:
            _log_page(open_page(driver.context))
        except Exception as error:
            if not driver.has_ended(error):
                log.warning("Spark's UI did not open: %s", reason_of(error))

    def replace(self, ended: Driver) -> None:
        """Restart Spark if ``ended`` is the present driver; tasks launched from now on wait for the new one."""
        with self._lock:
            if self.driver is not ended or self._stopping.is_set():
                return
            self.driver = None
            self.artifacts.begin_anew()
            self._ready.clear()
            self._close_autoscaler()
        log.error("Spark ended unexpectedly; restarting it")
        ended.stop(0)
        self._begin()

    # Stop -----------------------------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Prevent restarts; the present application and its tasks keep running until `stop`."""
        self._stopping.set()

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to exit; every task's process ends with it."""
        with self._lock:
            self._stopping.set()
            self._is_begun = False
            drivers = [each for each in (self.driver, self._prepared) if each is not None]
            self.driver = self._prepared = None
            self._close_autoscaler()
        for driver in drivers:
            driver.stop(grace)
        if drivers and self._starter is not None:
            self._starter.join(grace)  # an interrupted start has to clean up

    def _close_autoscaler(self) -> None:
        if self._autoscaler is not None:
            self._autoscaler.close()
        self.executors = self._autoscaler = None


def _log_page(address: str) -> None:
    log.info("Spark's UI is at %s", address)
