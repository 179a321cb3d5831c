"""Which settings Spark is started with, and what is said of those that do not fit."""

from __future__ import annotations

import pytest

from hearth.spark.spark_launcher import SparkLauncher, exposure, link_host, spark_settings


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
