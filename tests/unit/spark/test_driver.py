"""Error messages of Spark, and the life of a driver."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from hearth.spark import driver
from hearth.spark.driver import Driver, executors_python, is_local, reason_of
from hearth.spark.gateway import JvmEnded
from hearth.spark.spark_setting import spark_settings

FAILURE = """An error occurred while calling z:org.apache.spark.api.python.PythonRDD.collectAndServe.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times
Error from python worker:
  /usr/bin/python3: Error while finding module specification for 'hearth.spark.daemon'
\tat org.apache.spark.errors.SparkCoreErrors$.eof(SparkCoreErrors.scala:55)
\t... 3 more

Driver stacktrace:
\tat org.apache.spark.scheduler.DAGScheduler.abort(DAGScheduler.scala:1)
"""


def test_reason_omits_stack_frames_of_the_jvm() -> None:
    """What failed and why stays, py4j's own words and the stacks go."""
    assert reason_of(RuntimeError(FAILURE)) == (
        "org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times\n"
        "Error from python worker:\n"
        "/usr/bin/python3: Error while finding module specification for 'hearth.spark.daemon'"
    )


def test_error_without_a_message_is_named_by_its_type() -> None:
    """An empty message would say nothing at all."""
    assert reason_of(KeyError()) == "KeyError"


def test_long_reason_is_truncated() -> None:
    """A status is no log."""
    assert len(reason_of(RuntimeError("line\n" * 100)).splitlines()) == 12


@pytest.mark.parametrize(("master", "local"), [("local[4]", True), ("spark://host:7077", False), ("yarn", False)])
def test_local_master_is_recognized(master: str, local: bool) -> None:
    """Only there do tasks run on this machine for sure."""
    assert is_local(spark_settings({"spark.master": master})) is local


@pytest.mark.parametrize("is_stopped", [True, False])
def test_driver_has_ended_when_spark_stopped_itself(is_stopped: bool) -> None:
    """Its JVM answers, and every task would fail for ever."""
    driver = Driver.__new__(Driver)
    driver.context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(isStopped=lambda: is_stopped)))
    assert driver.has_ended(Py4JJavaError("no", SimpleNamespace(_target_id="o1", _gateway_client=None))) is is_stopped


def test_python_of_executors_is_the_hosts_unless_a_key_names_another() -> None:
    """Spark's own key, with Spark's own meaning."""
    assert executors_python({}) == sys.executable
    assert executors_python({"spark.pyspark.python": "/opt/python"}) == "/opt/python"


@pytest.mark.parametrize("is_stopped", [True, False])
def test_failed_jvm_start_closes_the_spare(monkeypatch: pytest.MonkeyPatch, is_stopped: bool) -> None:
    """Otherwise the spare would live unused as long as the host."""
    closed: list[bool] = []
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_LOCAL_IP", "PYTHONPATH"):
        monkeypatch.setenv(name, "")  # which the driver sets

    def spare(*_: object) -> Any:
        return SimpleNamespace(variables={}, close=lambda: closed.append(True))

    def end(*_: object) -> None:
        assert closed == [True] * is_stopped
        raise JvmEnded("it ended")

    monkeypatch.setattr(driver, "is_wanted", lambda *_: True)
    monkeypatch.setattr(driver, "SpareDaemon", spare)
    monkeypatch.setattr(driver, "start_jvm", end)
    own = Driver(spark_settings({}))
    if is_stopped:
        own.stop()
    with pytest.raises(JvmEnded):
        own.prepare()
    assert closed == [True]
