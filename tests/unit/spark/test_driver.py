"""What is said of a failure of Spark, and which settings a driver gets."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError

from hearth.spark.driver import Driver, executors_python, is_local, reason_of
from hearth.spark.launcher import SparkLauncher, exposure, link_host, spark_settings

FAILURE = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
Error from python worker:
  /usr/bin/python3: Error while finding module specification for 'hearth.spark.daemon'
\tat org.apache.spark.errors.SparkCoreErrors$.eof(SparkCoreErrors.scala:55)
\t... 3 more

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
"""


def test_a_failure_is_told_without_the_frames_of_the_jvm() -> None:
    """What failed and why stays, py4j's own words and the stacks go."""
    assert reason_of(RuntimeError(FAILURE)) == (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times\n"
        "Error from python worker:\n"
        "/usr/bin/python3: Error while finding module specification for 'hearth.spark.daemon'"
    )


def test_a_failure_without_words_is_told_by_its_type() -> None:
    """An empty message would say nothing at all."""
    assert reason_of(KeyError()) == "KeyError"


def test_long_words_are_cut() -> None:
    """A status is no log."""
    assert len(reason_of(RuntimeError("line\n" * 100)).splitlines()) == 12


@pytest.mark.parametrize(("master", "local"), [("local[4]", True), ("spark://host:7077", False), ("yarn", False)])
def test_a_local_master_is_known_by_its_name(master: str, local: bool) -> None:
    """Only there do tasks run on this machine for sure."""
    assert is_local(spark_settings({"spark.master": master})) is local


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


@pytest.mark.parametrize("is_stopped", [True, False])
def test_driver_whose_spark_has_stopped_by_itself_has_ended(is_stopped: bool) -> None:
    """Its JVM answers, and every task would fail for ever."""
    driver = Driver.__new__(Driver)
    driver.context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: is_stopped)))
    assert driver.has_ended(Py4JJavaError("no", SimpleNamespace(_target_id="o1", _gateway_client=None))) is is_stopped


def test_spark_has_no_page_on_a_cluster_unless_it_is_asked_for() -> None:
    """It listens on every address and knows no user."""
    cluster = {"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"}
    assert spark_settings(cluster)["spark.ui.enabled"] == "false"
    assert spark_settings({**cluster, "spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert "spark.ui.enabled" not in spark_settings({})
    assert spark_settings({})["spark.ui.killEnabled"] == "false"


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
def test_specifications_that_travel_in_clear_are_told_of(keys: dict[str, str], is_exposed: bool) -> None:
    """They hold the passwords of connectors."""
    said = exposure(spark_settings({"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1", **keys}))
    assert (said is not None) is is_exposed
    assert said is None or ("spark.authenticate=true" in said and "spark.network.crypto.enabled=true" in said)


def test_python_of_executors_is_the_hosts_unless_a_key_names_another() -> None:
    """Spark's own key, with Spark's own meaning."""
    assert executors_python({}) == sys.executable
    assert executors_python({"spark.pyspark.python": "/opt/python"}) == "/opt/python"


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
