"""Which settings Spark is started with, and what is said of those that do not fit."""

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
from hearth.spark import slot, spark_launcher
from hearth.spark.executor_set import ALL, NONE_YET
from hearth.spark.job import JobFailed, OnEnd
from hearth.spark.spark_launcher import LAUNCHERS, SparkLauncher, exposure, link_host, spark_settings
from hearth.spark.standalone_application import Term
from tests.peer.rest import eventually
from tests.unit.herder.catalogue import SOURCE, WORKER, directory
from tests.unit.runtime.sample import task_plan


def test_any_spark_key_of_the_worker_reaches_spark() -> None:
    """The worker's keys win over the defaults, options of the driver are added to."""
    worker = {"spark.task.maxFailures": "9", "spark.x": "y", "spark.driver.extraJavaOptions": "-Dz=1", "other": "1"}
    settings = spark_settings(worker)
    assert (settings["spark.task.maxFailures"], settings["spark.x"]) == ("9", "y")
    assert settings["spark.driver.extraJavaOptions"].endswith(" -Dz=1")
    assert "other" not in settings
    assert link_host(spark_settings({"spark.driver.host": "10.0.0.1"})) == "10.0.0.1"


def test_a_local_driver_asks_for_a_secret() -> None:
    """Its ports are on the loopback, where every user of the machine is."""
    settings = spark_settings({})
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    assert spark_settings({"spark.authenticate": "false"})["spark.authenticate"] == "false"


def test_who_encrypts_does_not_fall_back_to_speaking_in_clear_unless_told_so() -> None:
    """Whoever can change the first message on its way could bring both sides to it."""
    cluster = {"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"}
    encrypted = {**cluster, "spark.network.crypto.enabled": "true"}
    key = "spark.network.crypto.saslFallback"
    assert spark_settings({})[key] == spark_settings(encrypted)[key] == "false"
    assert spark_settings({**encrypted, key: "true"})[key] == "true"
    assert key not in spark_settings(cluster)


def test_spark_has_no_page_on_a_cluster_unless_it_is_asked_for() -> None:
    """It listens on every address and knows no user."""
    cluster = {"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"}
    assert spark_settings(cluster)["spark.ui.enabled"] == "false"
    assert spark_settings({**cluster, "spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert spark_settings({"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert spark_settings({})["spark.ui.killEnabled"] == "false"


def test_executors_of_a_cluster_compile_little_unless_they_are_told_otherwise() -> None:
    """They only carry Python. What a worker file, or Spark's own, says of their JVM goes before it."""
    key, cluster = "spark.executor.defaultJavaOptions", {"spark.master": "spark://m:7077", "spark.driver.host": "h"}
    assert "-XX:TieredStopAtLevel=1" in spark_settings(cluster)[key]
    assert spark_settings({**cluster, key: "-Da=b"})[key] == "-Da=b"
    assert "spark.executor.extraJavaOptions" not in spark_settings(cluster)
    assert key not in spark_settings({})


def test_executors_of_this_machine_find_the_classes_of_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere there is no such file, and a JVM that is told of one finds not even Java's own then."""
    archive = SimpleNamespace(options=lambda: ("-XX:SharedArchiveFile=/a.jsa",))
    monkeypatch.setattr(spark_launcher, "driver_archive", lambda: archive)
    key, here = "spark.executor.defaultJavaOptions", {"spark.master": "spark://127.0.0.1:1"}
    assert spark_settings(here)[key].endswith("-XX:TieredStopAtLevel=1 -XX:SharedArchiveFile=/a.jsa")
    assert "Archive" not in spark_settings({**here, "spark.driver.host": "10.0.0.1"})[key]
    assert spark_settings({**here, key: "-Da=b"})[key] == "-Da=b"
    assert key not in spark_settings({})


@pytest.mark.parametrize(
    ("keys", "is_exposed"),
    [
        ({}, True),
        ({"spark.authenticate": "true"}, True),
        ({"spark.network.crypto.enabled": "true"}, True),
        ({"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}, False),
        ({"spark.authenticate": "true", "spark.authenticate.enableSaslEncryption": "true"}, False),
        ({"spark.ssl.rpc.enabled": "true"}, False),
        ({"spark.master": "local[2]"}, False),
    ],
)
def test_tokens_that_travel_in_clear_are_told_of(keys: dict[str, str], is_exposed: bool) -> None:
    """Who has one is told the passwords of its connector."""
    said = exposure(spark_settings({"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1", **keys}))
    assert (said is not None) is is_exposed
    assert said is None or ("spark.authenticate=true" in said and "spark.network.crypto.enabled=true" in said)


@pytest.mark.parametrize(
    ("reason", "is_explained"),
    [
        ("/usr/bin/python3: Error while finding module specification for 'hearth.spark.daemon'", True),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11", True),
        ('java.io.IOException: Cannot run program "/opt/python"', True),
        ("Job aborted due to stage failure: executor 3 exited", False),
    ],
)
def test_a_failure_of_the_executors_python_names_the_key(reason: str, is_explained: bool) -> None:
    """What it has to be, what it is, and where to say so."""
    launcher = SparkLauncher({"spark.pyspark.python": "/opt/python"})
    said = launcher._explained(reason)
    assert ("executors run /opt/python" in said and "spark.pyspark.python" in said) is is_explained
    assert said.startswith(reason)


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

    def await_master(self) -> None:
        """Find it."""

    def start(self, settings: dict[str, str]) -> None:
        """Start, which takes its time."""
        assert self.is_started.wait(10)

    def run_task(self, rows: list[Any], on_end: OnEnd, place: str | None = None) -> None:
        """Take a job, and what travels to its executor."""
        self.carried = rows
        self.submitted.put(on_end)

    def has_ended(self, failure: Exception) -> bool:
        """Return that it is there, whatever failed."""
        return False

    def stop(self, grace: float) -> None:
        """Stop."""


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Spark:
    """Return what a launcher takes for Spark."""
    spark = Spark()
    monkeypatch.setattr(spark_launcher, "Driver", lambda settings: spark)
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


def test_a_run_that_has_begun_waits_for_no_slot(
    launcher: SparkLauncher, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark is asked of those that have said nothing, and of no other."""
    spark.is_started.set()
    for task in (0, 1):
        launched(launcher, spark, task)
        spark.submitted.get(timeout=10)
    launcher.has_begun("c", 0)
    asked: list[str] = []

    def is_running(_context: Any, group: str) -> bool:
        asked.append(group)
        return True

    monkeypatch.setattr(slot, "_is_running", is_running)
    monkeypatch.setattr(slot, "PATIENCE_SECONDS", 0.0)
    launcher._slots.look(None)
    assert asked == ["c-1"]


def test_no_launch_waits_for_the_end_of_another(launcher: SparkLauncher, spark: Spark) -> None:
    """However many run: each is submitted, and what its job ends with is told."""
    spark.is_started.set()
    for task in range(LAUNCHERS + 2):
        launched(launcher, spark, task)
    ends = [spark.submitted.get(timeout=10) for _ in range(LAUNCHERS + 2)]
    assert spark.ended.empty()
    ends[0]([], None)
    ends[1]([RunLoss("the host is not there").to_json()], None)
    ends[2]([], JobFailed("org.apache.spark.SparkException: Job aborted\nDriver stacktrace:\n at x"))
    told = [spark.ended.get(timeout=10).reason for _ in range(3)]
    assert told == [None, "the host is not there", "org.apache.spark.SparkException: Job aborted"]


def test_launch_that_is_called_off_in_time_is_never_submitted(launcher: SparkLauncher, spark: Spark) -> None:
    """Spark is still starting; whoever launched the task hears that nothing runs."""
    for task in range(LAUNCHERS + 1):
        launched(launcher, spark, task)
    launcher.cancel("c", LAUNCHERS)
    spark.is_started.set()
    assert spark.ended.get(timeout=10) == TaskEnd("c", LAUNCHERS, 7)
    for _ in range(LAUNCHERS):
        spark.submitted.get(timeout=10)
    assert spark.submitted.empty()


def test_what_executors_lack_is_sent_before_the_next_launch(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each Spark, and not where all they lack is another Python."""
    sent: list[Any] = []
    monkeypatch.setattr(spark_launcher, "ship_host", sent.append)
    launcher = SparkLauncher({"spark.master": "yarn", "spark.driver.host": "127.0.0.1"})
    launcher.start()
    spark.is_started.set()
    reasons = []
    for failure in ('Cannot run program "python"', *["No module named 'hearth'"] * 2):
        launched(launcher, spark)
        spark.submitted.get(timeout=10)([], JobFailed(failure))
        reasons.append((len(sent), str(spark.ended.get(timeout=10).reason)))
    launched(launcher, spark)
    spark.submitted.get(timeout=10)
    assert sent == [spark.context]
    assert [count for count, _ in reasons] == [0, 0, 1]
    assert ["which are sent to them" in reason for _, reason in reasons] == [False, True, False]
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


def test_what_spark_carries_holds_no_setting_and_no_secret(
    launcher: SparkLauncher, spark: Spark, tmp_path: Path
) -> None:
    """It is how a task finds and enters its host; everything else that host tells it itself."""
    known = directory(tmp_path)
    worker = WorkerConfig({**WORKER, **SECRETS["worker"]})
    config = {"name": "c", "connector.class": SOURCE, **SECRETS["connector"]}
    (plan,) = Planner(known, worker).plan(known.connector(config), "1", config, [{**config, "table": "sesame-table"}])
    assert "sesame-sasl" in str(plan.to_json())
    spark.is_started.set()
    launch, context = launched(launcher, spark, plan=plan), spark.context
    spark.submitted.get(timeout=10)
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


def test_spark_notes_at_once_that_a_task_runs() -> None:
    """It is asked for that when nothing has been heard of a task for a while."""
    assert spark_settings({})["spark.ui.liveUpdate.period"] == "0s"


@pytest.mark.parametrize("is_stopping", [False, True])
def test_spark_that_has_ended_is_replaced_unless_its_host_leads_no_more(
    monkeypatch: pytest.MonkeyPatch, is_stopping: bool
) -> None:
    """Tasks still drain then; another Spark would take the room that the next leader needs."""
    standby = Standby(monkeypatch)
    launcher = SparkLauncher({"spark.master": "local[1]", "spark.ui.enabled": "false"})
    launcher.start()
    assert launcher.wait_until_ready(5)
    if is_stopping:
        launcher.begin_stop()
    (first,) = standby.drivers
    launcher._replace(first)  # type: ignore[arg-type]
    assert eventually(lambda: len(standby.drivers) == 2, 0.2 if is_stopping else 5) is not is_stopping
    assert ("stop" in first.told) is not is_stopping
    launcher.stop()


class Standby:
    """Drivers of a launcher, each with a JVM that a test may let die."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.drivers: list[Standby.Driver] = []
        monkeypatch.setattr(spark_launcher, "Driver", lambda settings: self._new())

    def _new(self) -> Standby.Driver:
        self.drivers.append(Standby.Driver())
        return self.drivers[-1]

    class Driver:
        """One that starts at once."""

        def __init__(self) -> None:
            self.told: list[str] = []
            self.is_prepared = False
            self.context = Context()

        def prepare(self) -> None:
            """Start its JVM."""
            self.told.append("prepare")
            self.is_prepared = True

        def await_master(self) -> None:
            """Find it."""

        def start(self, settings: dict[str, str]) -> None:
            """Start Spark in it."""
            self.told.append("start")
            self.begun_with = settings

        def has_ended(self, failure: Exception) -> bool:
            """Return that it is there."""
            return False

        def stop(self, grace: float) -> None:
            """Stop it."""
            self.told.append("stop")


@pytest.mark.parametrize("dies", [False, True])
def test_a_launcher_begins_with_the_jvm_that_it_has_and_may_begin_again(
    monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """A host that leads a second time has a Spark of its own again; a JVM that has died meanwhile is of no use."""
    standby = Standby(monkeypatch)
    launcher = SparkLauncher({"spark.master": "local[1]", "spark.ui.enabled": "false"})
    told = []
    for _ in range(2):
        launcher.prepare()
        assert eventually(lambda: standby.drivers[-1].is_prepared, 5)
        standby.drivers[-1].is_prepared = not dies
        launcher.start()
        assert launcher.wait_until_ready(5)
        launcher.stop()
        told += [each.told for each in standby.drivers]
        standby.drivers.clear()
    assert told == ([["prepare", "stop"], ["start", "stop"]] if dies else [["prepare", "start", "stop"]]) * 2
    launcher.prepare()
    assert eventually(lambda: standby.drivers[-1].is_prepared, 5)
    launcher.stop()
    assert standby.drivers[-1].told == ["prepare", "stop"]


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


def test_a_launcher_that_stands_by_lacks_nothing_but_executors(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It asks for these when it starts, and with the application that it has; who has started stands by no more."""
    standby, follows = Standby(monkeypatch), Term("kafka/group", 7)
    monkeypatch.setattr(spark_launcher, "silence_of", lambda master: None)
    monkeypatch.setattr(spark_launcher, "ExecutorSet", Executors)
    Executors.asked = []
    launcher = SparkLauncher({"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"})
    assert launcher.can_stand_by
    launcher.prepare()
    assert launcher.stand_by(follows)
    assert eventually(lambda: standby.drivers[-1].told == ["prepare", "start"], 5)
    (driver,) = standby.drivers
    assert driver.begun_with == {**follows.settings(), **NONE_YET}
    assert Executors.asked == []
    launcher.start(follows)
    assert launcher.wait_until_ready(5)
    assert Executors.asked == [ALL]
    assert (driver.told, driver.begun_with) == (["prepare", "start", "start"], {**follows.settings(), **NONE_YET})
    assert not launcher.stand_by(Term("kafka/group", 8))
    launcher.stop()
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
def test_nobody_stands_by_whose_spark_would_take_something(worker: dict[str, str]) -> None:
    """A local one is there anyway; elsewhere Spark may have executors, or more, by its own settings."""
    assert not SparkLauncher({**worker, "spark.driver.host": "127.0.0.1"}).can_stand_by
