"""The settings that Spark starts with, and warnings about insecure ones."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hearth.spark import spark_setting
from hearth.spark.spark_setting import exposure, link_host, spark_settings


def test_any_spark_key_of_the_worker_reaches_spark() -> None:
    """The worker's keys win over the defaults, options of the driver are added to."""
    worker = {"spark.task.maxFailures": "9", "spark.x": "y", "spark.driver.extraJavaOptions": "-Dz=1", "other": "1"}
    settings = spark_settings(worker)
    assert (settings["spark.task.maxFailures"], settings["spark.x"]) == ("9", "y")
    assert settings["spark.driver.extraJavaOptions"].endswith(" -Dz=1")
    assert "other" not in settings
    assert link_host(spark_settings({"spark.driver.host": "10.0.0.1"})) == "10.0.0.1"


def test_local_driver_requires_a_secret() -> None:
    """Its ports are on the loopback, where every user of the machine is."""
    settings = spark_settings({})
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    assert spark_settings({"spark.authenticate": "false"})["spark.authenticate"] == "false"


def test_encryption_disables_the_fallback_to_clear_text() -> None:
    """Anybody who can change the first message could force both sides to it."""
    cluster = {"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"}
    encrypted = {**cluster, "spark.network.crypto.enabled": "true"}
    key = "spark.network.crypto.saslFallback"
    assert spark_settings({})[key] == spark_settings(encrypted)[key] == "false"
    assert spark_settings({**encrypted, key: "true"})[key] == "true"
    assert key not in spark_settings(cluster)


def test_ui_is_off_on_a_cluster_by_default() -> None:
    """It listens on every address and knows no user."""
    cluster = {"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1"}
    assert spark_settings(cluster)["spark.ui.enabled"] == "false"
    assert spark_settings({**cluster, "spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert spark_settings({"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert spark_settings({})["spark.ui.killEnabled"] == "false"


def test_cluster_executors_use_c1_by_default() -> None:
    """They only carry Python. What a worker file, or Spark's own, says of their JVM goes before it."""
    key, cluster = "spark.executor.defaultJavaOptions", {"spark.master": "spark://m:7077", "spark.driver.host": "h"}
    assert "-XX:TieredStopAtLevel=1" in spark_settings(cluster)[key]
    assert spark_settings({**cluster, key: "-Da=b"})[key] == "-Da=b"
    assert "spark.executor.extraJavaOptions" not in spark_settings(cluster)
    assert key not in spark_settings({})


def test_local_executors_use_the_drivers_class_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere the file does not exist, and a JVM that names it does not even use Java's own archive."""
    archive = SimpleNamespace(options=lambda: ("-XX:SharedArchiveFile=/a.jsa",))
    monkeypatch.setattr(spark_setting, "driver_archive", lambda: archive)
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
def test_unencrypted_tokens_cause_a_warning(keys: dict[str, str], is_exposed: bool) -> None:
    """The holder of a token receives the passwords of its connector."""
    warnings = exposure(spark_settings({"spark.master": "spark://m:7077", "spark.driver.host": "127.0.0.1", **keys}))
    assert (warnings is not None) is is_exposed
    assert warnings is None or (
        "spark.authenticate=true" in warnings and "spark.network.crypto.enabled=true" in warnings
    )


def test_spark_records_a_running_task_at_once() -> None:
    """It is asked for that when nothing has been heard of a task for a while."""
    assert spark_settings({})["spark.ui.liveUpdate.period"] == "0s"
