"""How tasks are submitted to Spark, what is sent with them, and how their ends are reported."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.herder.planner import Planner
from hearth.link.admission import LinkAddress
from hearth.runtime.launcher import RunLoss, TaskEnd, TaskLaunch
from hearth.runtime.plan import TaskPlan
from hearth.spark import executor_artifact, slot, spark_application
from hearth.spark.job import JobFailed, OnEnd
from hearth.spark.spark_launcher import LAUNCHERS, SparkLauncher
from tests.timeouts import TIMEOUT
from tests.unit.herder.catalogue import SOURCE, WORKER, directory
from tests.unit.runtime.sample import task_plan


class Context:
    """A SparkContext that keeps the groups of jobs."""

    _jsc = None

    def __init__(self) -> None:
        self.groups: list[tuple[str, str, bool]] = []

    def setJobGroup(self, *group: Any) -> None:
        """Take note of a job's group and description."""
        self.groups.append(group)


@dataclass
class Spark:
    """A driver that has started when a test says so, and whose jobs end when it says so."""

    context: Context = field(default_factory=Context)
    is_started: threading.Event = field(default_factory=threading.Event)
    carried: list[Any] = field(default_factory=list)
    submitted: queue.SimpleQueue[OnEnd] = field(default_factory=queue.SimpleQueue)
    ended: queue.SimpleQueue[TaskEnd] = field(default_factory=queue.SimpleQueue)
    jobs: Any = field(default_factory=lambda: SimpleNamespace(submitted=0))

    def await_master(self) -> None:
        """Find it."""

    def start(self, settings: dict[str, str]) -> None:
        """Start, which takes its time."""
        assert self.is_started.wait(TIMEOUT)

    def run_task(self, rows: list[Any], on_end: OnEnd, place: str | None = None) -> None:
        """Take a job, and what travels to its executor."""
        self.carried = rows
        self.submitted.put(on_end)

    def has_ended(self, failure: Exception) -> bool:
        """Note the end, whatever failed."""
        return False

    def stop(self, grace: float) -> None:
        """Stop."""


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    """Return what a launcher takes for Spark."""
    spark = Spark()
    monkeypatch.setattr(spark_application, "Driver", lambda settings: spark)
    return spark


@pytest.fixture
def launcher(spark: Spark) -> Iterator[SparkLauncher]:
    """Return a launcher that was started."""
    launcher = SparkLauncher({"spark.master": "local[1]"})
    launcher.start()
    yield launcher
    spark.is_started.set()
    launcher.stop()


def launched(launcher: SparkLauncher, spark: Spark, task: int = 0, plan: TaskPlan | None = None) -> TaskLaunch:
    """Launch a task of a connector."""
    launch = TaskLaunch("c", task, 7, LinkAddress("10.0.0.1", 4711, "the-token", "the-certificate"))
    launcher.launch(launch, plan or replace(task_plan("source"), task=task), spark.ended.put)
    return launch


def test_started_run_does_not_wait_for_a_slot(
    launcher: SparkLauncher, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark is asked only about runs that have not reported."""
    spark.is_started.set()
    for task in (0, 1):
        launched(launcher, spark, task)
        spark.submitted.get(timeout=TIMEOUT)
    launcher.has_begun("c", 0)
    asked: list[str] = []

    def is_running(_context: Any, group: str) -> bool:
        asked.append(group)
        return True

    monkeypatch.setattr(slot, "_is_running", is_running)
    monkeypatch.setattr(slot, "INTERRUPT_SECONDS", 0.0)
    launcher.application.slots.look(None)
    assert asked == ["c-1"]


def test_launches_do_not_wait_for_each_other(launcher: SparkLauncher, spark: Spark) -> None:
    """However many run: each is submitted, and the end of its job is reported."""
    spark.is_started.set()
    for task in range(LAUNCHERS + 2):
        launched(launcher, spark, task)
    ends = [spark.submitted.get(timeout=TIMEOUT) for _ in range(LAUNCHERS + 2)]
    assert spark.ended.empty()
    ends[0]([], None)
    ends[1]([RunLoss("the host is not there").to_json()], None)
    ends[2]([], JobFailed("org.apache.spark.SparkException: Job aborted\nDriver stacktrace:\n at x"))
    reasons = [spark.ended.get(timeout=TIMEOUT).reason for _ in range(3)]
    assert reasons == [None, "the host is not there", "org.apache.spark.SparkException: Job aborted"]


def test_launch_cancelled_in_time_is_not_submitted(launcher: SparkLauncher, spark: Spark) -> None:
    """While Spark is still starting; the caller learns that nothing runs."""
    for task in range(LAUNCHERS + 1):
        launched(launcher, spark, task)
    launcher.cancel("c", LAUNCHERS)
    spark.is_started.set()
    assert spark.ended.get(timeout=TIMEOUT) == TaskEnd("c", LAUNCHERS, 7)
    for _ in range(LAUNCHERS):
        spark.submitted.get(timeout=TIMEOUT)
    assert spark.submitted.empty()


def test_missing_packages_are_sent_before_the_next_launch(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each Spark, and not where all they lack is another Python."""
    sent: list[Any] = []
    monkeypatch.setattr(executor_artifact, "ship_host", sent.append)
    launcher = SparkLauncher({"spark.master": "yarn", "spark.driver.host": "127.0.0.1"})
    launcher.start()
    spark.is_started.set()
    reasons = []
    for failure in ('Cannot run program "python"', *["No module named 'hearth'"] * 2):
        launched(launcher, spark)
        spark.submitted.get(timeout=TIMEOUT)([], JobFailed(failure))
        reasons.append((len(sent), str(spark.ended.get(timeout=TIMEOUT).reason)))
    launched(launcher, spark)
    spark.submitted.get(timeout=TIMEOUT)
    assert sent == [spark.context]
    assert [count for count, _ in reasons] == [0, 0, 1]
    assert ["sending them before the next task" in reason for _, reason in reasons] == [False, True, False]
    assert "spark.pyspark.python" in reasons[2][1]
    launcher.stop()


SECRETS = {
    "worker": {
        "producer.sasl.mechanism": "PLAIN",
        "producer.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="sesame-user" password="sesame-sasl";',
        "producer.ssl.key.password": "sesame-key",
        "listeners.https.ssl.keystore.password": "sesame-rest",
        "spark.hadoop.fs.s3a.secret.key": "sesame-spark",
        "value.converter.basic.auth.user.info": "sesame-registry",
    },
    "connector": {
        "database.password": "sesame-database",
        "producer.override.ssl.keystore.password": "sesame-override",
        "transforms": "t",
        "transforms.t.type": "RegexRouter",
        "transforms.t.regex": "sesame-transform",
        "transforms.t.replacement": "x",
    },
}


def test_spark_job_contains_no_setting_and_no_secret(launcher: SparkLauncher, spark: Spark, tmp_path: Path) -> None:
    """It contains only the host's address and the task's token; the host sends everything else."""
    known = directory(tmp_path)
    worker = WorkerConfig({**WORKER, **SECRETS["worker"]})
    config = {"name": "c", "connector.class": SOURCE, **SECRETS["connector"]}
    (plan,) = Planner(known, worker).plan(known.connector(config), "1", config, [{**config, "table": "sesame-table"}])
    assert "sesame-sasl" in str(plan.to_json())
    spark.is_started.set()
    launch, context = launched(launcher, spark, plan=plan), spark.context
    spark.submitted.get(timeout=TIMEOUT)
    assert context.groups == [("c-0", f"c-0 ({SOURCE})", False)]
    (text,) = spark.carried
    for word in ("sesame", "127.0.0.1:9092", "RegexRouter", "JsonConverter", "converter", "bootstrap"):
        assert word not in text, word
    assert json.loads(text) == {
        "connector": "c",
        "task": 0,
        "generation": 7,
        "link": {"host": "10.0.0.1", "port": 4711, "token": "the-token", "certificate": "the-certificate"},
        "shares": "",
    }
    assert TaskLaunch.from_json(text) == launch
    assert "the-token" not in repr(launch)
