"""When Spark runs: standby before a host leads, while it leads, and restarts."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from hearth.spark import spark_application
from hearth.spark.executor_set import ALL, NONE_YET
from hearth.spark.spark_application import SparkApplication
from hearth.spark.standalone_application import Term
from tests.timeouts import TIMEOUT, eventually


class Context:
    """A SparkContext of which nothing is asked."""

    _jsc = None


class Tasks:
    """Nothing runs."""

    def move(self, group: str) -> bool:
        """Refuse."""
        return False

    def usage(self, group: str) -> Any:
        """Know nothing."""
        raise LookupError(group)


def application(worker: dict[str, str]) -> SparkApplication:
    """Return the Spark of a host with these settings."""
    return SparkApplication(worker, Tasks())


@pytest.mark.parametrize("is_stopping", [False, True])
def test_ended_spark_is_replaced_only_while_its_host_leads(monkeypatch: pytest.MonkeyPatch, is_stopping: bool) -> None:
    """Tasks still drain then; another Spark would take the room that the next leader needs."""
    standby = Standby(monkeypatch)
    spark = application({"spark.master": "local[1]", "spark.ui.enabled": "false"})
    spark.start()
    assert spark.wait_until_ready(TIMEOUT)
    if is_stopping:
        spark.begin_stop()
    (first,) = standby.drivers
    spark.replace(first)  # type: ignore[arg-type]
    assert eventually(lambda: len(standby.drivers) == 2, 0.2 if is_stopping else TIMEOUT) is not is_stopping
    assert ("stop" in first.calls) is not is_stopping
    spark.stop()


class Standby:
    """Drivers of a host, each with a JVM that a test may let die."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, jobs: Any = None) -> None:
        self.drivers: list[Standby.Driver] = []
        self._jobs = jobs
        monkeypatch.setattr(spark_application, "Driver", lambda settings: self._new())

    def _new(self) -> Standby.Driver:
        self.drivers.append(Standby.Driver(self._jobs))
        return self.drivers[-1]

    class Driver:
        """One that starts at once."""

        def __init__(self, jobs: Any) -> None:
            self.jobs = jobs
            self.calls: list[str] = []
            self.is_prepared = False
            self.context = Context()

        def prepare(self) -> None:
            """Start its JVM."""
            self.calls.append("prepare")
            self.is_prepared = True

        def await_master(self) -> None:
            """Find it."""

        def start(self, settings: dict[str, str]) -> None:
            """Start Spark in it."""
            self.calls.append("start")
            self.begun_with = settings

        def has_ended(self, failure: Exception) -> bool:
            """Note the end."""
            return False

        def stop(self, grace: float) -> None:
            """Stop it."""
            self.calls.append("stop")


class Launching:
    """Jobs whose number grows by one at each request, up to a limit."""

    def __init__(self, most: float) -> None:
        self.most, self.asked = most, 0

    @property
    def submitted(self) -> float:
        """Return how many there are."""
        self.asked += 1
        return min(self.asked, self.most)


@pytest.mark.parametrize(("most", "asked"), [(1, 2), (2, 4), (5, 6), (math.inf, 2 * spark_application.PAGE_LOOKS)])
def test_ui_opens_after_tasks_were_launched(monkeypatch: pytest.MonkeyPatch, most: float, asked: int) -> None:
    """It costs as much as a dozen of them; where there are always more to launch it comes all the same."""
    jobs, opened = Launching(most), list[int]()

    def open_page(context: Context) -> str:
        opened.append(jobs.asked)
        return "here"

    monkeypatch.setattr(spark_application, "PAGE_SECONDS", 0.01)
    monkeypatch.setattr(spark_application, "open_page", open_page)
    standby = Standby(monkeypatch, jobs)
    spark = application({"spark.master": "local[1]"})
    spark.start()
    assert eventually(lambda: bool(opened), TIMEOUT)
    assert opened == [asked]
    spark.stop()
    assert len(standby.drivers) == 1


def test_start_waits_on_another_thread_for_the_prepared_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host continues meanwhile, and starts no second JVM."""
    standby, goes_on = Standby(monkeypatch), threading.Event()
    prepare = Standby.Driver.prepare
    monkeypatch.setattr(Standby.Driver, "prepare", lambda driver: goes_on.wait(TIMEOUT) and prepare(driver))
    spark = application({"spark.master": "local[1]", "spark.ui.enabled": "false"})
    spark.prepare()
    assert eventually(lambda: bool(standby.drivers), TIMEOUT)
    spark.start()
    assert standby.drivers[0].calls == []
    goes_on.set()
    assert spark.wait_until_ready(TIMEOUT)
    assert [driver.calls for driver in standby.drivers] == [["prepare", "start"]]
    spark.stop()


@pytest.mark.parametrize("dies", [False, True])
def test_start_uses_the_prepared_jvm_and_may_follow_a_stop(monkeypatch: pytest.MonkeyPatch, dies: bool) -> None:
    """A host that leads a second time has a Spark of its own again; a JVM that has died meanwhile is of no use."""
    standby = Standby(monkeypatch)
    spark = application({"spark.master": "local[1]", "spark.ui.enabled": "false"})
    calls = []
    for _ in range(2):
        spark.prepare()
        assert eventually(lambda: standby.drivers[-1].is_prepared, TIMEOUT)
        standby.drivers[-1].is_prepared = not dies
        spark.start()
        assert spark.wait_until_ready(TIMEOUT)
        spark.stop()
        calls += [each.calls for each in standby.drivers]
        standby.drivers.clear()
    assert calls == ([["prepare", "stop"], ["start", "stop"]] if dies else [["prepare", "start", "stop"]]) * 2
    spark.prepare()
    assert eventually(lambda: standby.drivers[-1].is_prepared, TIMEOUT)
    spark.stop()
    assert standby.drivers[-1].calls == ["prepare", "stop"]


class Executors:
    """The executors of a Spark that has none, and what was asked for."""

    asked: list[int]

    def __init__(self, _context: Any) -> None:
        self.asked = []

    def ask_for(self, count: int) -> None:
        """Take note of it."""
        Executors.asked.append(count)

    def ask_again(self) -> None:
        """Do nothing: no master was away."""


def test_standby_application_only_lacks_executors(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its start requests them for the existing application; a started one is no standby any more."""
    standby, follows = Standby(monkeypatch), Term("kafka/group", 7)
    monkeypatch.setattr(spark_application, "silence_of", lambda master: None)
    monkeypatch.setattr(spark_application, "ExecutorSet", Executors)
    Executors.asked = []
    spark = application({"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"})
    assert spark.can_stand_by
    spark.prepare()
    assert spark.stand_by(follows)
    assert eventually(lambda: standby.drivers[-1].calls == ["prepare", "start"], TIMEOUT)
    (driver,) = standby.drivers
    assert driver.begun_with == {**follows.settings(), **NONE_YET}
    assert Executors.asked == []
    spark.start(follows)
    assert spark.wait_until_ready(TIMEOUT)
    assert Executors.asked == [ALL]
    assert (driver.calls, driver.begun_with) == (["prepare", "start", "start"], {**follows.settings(), **NONE_YET})
    assert not spark.stand_by(Term("kafka/group", 8))
    spark.stop()
    assert standby.drivers == [driver]
    assert "Spark did not start" not in caplog.text


@pytest.mark.parametrize(
    "worker",
    [
        {},
        {"spark.master": "yarn"},
        {"spark.master": "spark://m:7077", "spark.executor.instances": "2"},
        {"spark.master": "spark://m:7077", "spark.dynamicAllocation.enabled": "true"},
    ],
)
def test_no_standby_if_the_application_would_take_resources(worker: dict[str, str]) -> None:
    """A local one needs no standby; elsewhere Spark's own settings may give it executors."""
    assert not application({**worker, "spark.driver.host": "127.0.0.1"}).can_stand_by
