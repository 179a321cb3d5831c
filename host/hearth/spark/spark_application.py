"""The Spark of a host: begun beforehand, started, watched while it runs, and started anew where it has ended."""

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
"""For how long no task may have been launched when Spark's page is opened."""
PAGE_LOOKS = 5
"""How often that is waited for: hosts on which tasks begin all the time have a page as well."""


class SparkApplication:
    """Sees to it that there is one driver, from a start to a stop, for those who submit tasks to it.

    All that takes long happens on threads of its own.
    """

    def __init__(
        self,
        worker: Mapping[str, str],
        tasks: Tasks,
        capacity: Capacity | None = None,
    ) -> None:
        """With a ``capacity`` it says how many executors there are; ``tasks`` are what runs on them."""
        self.settings = spark_settings(worker, capacity)
        self._capacity = None if is_local(self.settings) else capacity
        self._is_capacity_idle = capacity is not None and self._capacity is None
        is_counted = is_on(worker, "spark.dynamicAllocation.enabled") or any(key in worker for key in OTHER_COUNTS)
        self._is_standalone = self.settings["spark.master"].startswith("spark://")
        self.can_stand_by = self._is_standalone and not is_counted
        """Whether Spark can be there before it takes anything that others could use."""
        self.slots = SlotWatch(self.settings, capacity=self._capacity)
        self.artifacts = ExecutorArtifacts(self.settings)
        self.driver: Driver | None = None
        """What takes tasks, from when it is about to start."""
        self.executors: ExecutorSet | None = None
        """Where a ``capacity`` says how many there are: who knows on which of them a task runs."""
        self.failure: str | None = None
        """Why there is no driver, where it did not start."""
        self._tasks = tasks
        self._autoscaler: Autoscaler | None = None
        self._opens_page = is_local(self.settings) and PAGE not in worker
        self._given = [key for key in worker if key.startswith("spark.")]
        self.on_error: Callable[[str], None] = lambda text: log.error("%s", text)
        """Hears why Spark did not start."""
        self._ready = threading.Event()
        self._term: Term | None = None
        self._prepared: Driver | None = None
        self._is_begun = False
        self._starter: threading.Thread | None = None
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    # Beginning ------------------------------------------------------------------------------------------------

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
        """Begin to start Spark, also anew after a stop; returns at once.

        A host that leads others says in which term: on a standalone cluster nothing of an earlier one stays.
        """
        with self._lock:
            self._is_begun = True
        preparing = self._starter
        if preparing is not None and self._stopping.is_set():
            preparing.join()  # what was still starting when it was stopped has cleared away after itself
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
        """Wait until Spark takes tasks, or does not start; returns whether it takes them."""
        return self._ready.wait(timeout) and self.failure is None

    @property
    def is_warm(self) -> bool:
        """Return whether Spark has started, or all of it that may be there before it is wanted."""
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
                log.warning("Spark's JVM did not start beforehand: %s", reason_of(error))

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
                log.warning("Spark did not start beforehand: %s", reason_of(error))

    def _settings_of(self, term: Term | None) -> dict[str, str]:
        """Return what an application is begun with beside what all are."""
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
        """Have as many executors as there are to be; returns them, None where Spark decides for itself."""
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
        """Take note that there is no Spark; what waits for it hears why, and so does the host unless it stops it."""
        with self._lock:
            self.driver, self.failure = None, reason
        self._ready.set()
        if not self._stopping.is_set():
            self.on_error(reason)

    # While it runs --------------------------------------------------------------------------------------------

    def _see_to(self, driver: Driver, executors: ExecutorSet | None) -> None:
        """Begin to look after a driver that has started, and say what there is to say of it."""
        if self._is_standalone:
            watched, name = (driver, executors), "spark-application"
            threading.Thread(target=self._watch_master, args=watched, name=name, daemon=True).start()
        threading.Thread(target=self.slots.watch, args=(driver.context,), name="spark-slots", daemon=True).start()
        with contextlib.suppress(Exception):  # a context that is going away answers nothing
            for text in misspelled(driver.context, self._given):
                log.warning("%s", text)
            if driver.context.uiWebUrl is not None:
                _tell_of_page(driver.context.uiWebUrl)
        if self._opens_page:
            self._open_page(driver)
        if not is_local(self.settings):
            keep_warm(driver.context, self.artifacts.explained)

    def _watch_master(self, driver: Driver, executors: ExecutorSet | None) -> None:
        """Start Spark anew where its master knows it no more; a JVM is made ready while tasks still run."""
        on_met = None if executors is None else executors.ask_again
        with contextlib.suppress(Exception):  # the context has gone away, and nothing is to be seen to any more
            application = StandaloneApplication(driver.context, self.settings["spark.master"], self._term)
            application.watch(self._prepare, lambda: self.replace(driver), driver.is_over, on_met)

    def _open_page(self, driver: Driver) -> None:
        """Open Spark's page once no more tasks are launched: the first come before it, be they a hundred."""
        assert driver.jobs is not None, "it has started"
        for _ in range(PAGE_LOOKS):
            before = driver.jobs.submitted
            if self._stopping.wait(PAGE_SECONDS):
                return
            if driver.jobs.submitted == before:
                break
        try:
            _tell_of_page(open_page(driver.context))
        except Exception as error:
            if not driver.has_ended(error):
                log.warning("Spark has no page: %s", reason_of(error))

    def replace(self, ended: Driver) -> None:
        """Start Spark anew where it has ended, once; tasks launched from now on wait for the new one."""
        with self._lock:
            if self.driver is not ended or self._stopping.is_set():
                return
            self.driver = None
            self.artifacts.begin_anew()
            self._ready.clear()
            self._close_autoscaler()
        log.error("Spark ended unexpectedly, another one is started")
        ended.stop(0)
        self._begin()

    # The end --------------------------------------------------------------------------------------------------

    def begin_stop(self) -> None:
        """Begin no other Spark; this one, and all that runs on it, goes on until `stop`."""
        self._stopping.set()

    def stop(self, grace: float = 5) -> None:
        """Stop Spark and its JVM, which has ``grace`` seconds to end; every task's process ends with it."""
        with self._lock:
            self._stopping.set()
            self._is_begun = False
            drivers = [each for each in (self.driver, self._prepared) if each is not None]
            self.driver = self._prepared = None
            self._close_autoscaler()
        for driver in drivers:
            driver.stop(grace)
        if drivers and self._starter is not None:
            self._starter.join(grace)  # where it was still starting, it has something to clear away

    def _close_autoscaler(self) -> None:
        if self._autoscaler is not None:
            self._autoscaler.close()
        self.executors = self._autoscaler = None


def _tell_of_page(address: str) -> None:
    log.info("Spark's own page is at %s", address)
