"""What is said of a failure of Spark, and which settings a driver gets."""

from __future__ import annotations

import pytest

from hearth.spark.driver import is_local, reason_of
from hearth.spark.launcher import link_host, spark_settings

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
