"""Hints for executors that lack packages, and what is sent to them."""

from __future__ import annotations

import pytest

from hearth.spark.executor_artifact import ExecutorArtifacts
from hearth.spark.spark_setting import spark_settings


@pytest.mark.parametrize(
    ("reason", "is_explained"),
    [
        ("/usr/bin/python3: Error while finding module specification for 'hearth.spark.daemon'", True),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11", True),
        ('java.io.IOException: Cannot run program "/opt/python"', True),
        ("Job aborted due to stage failure: executor 3 exited", False),
    ],
)
def test_failure_of_the_executors_python_has_a_remedy(reason: str, is_explained: bool) -> None:
    """What it has to be, what it is, and where to say so."""
    explanation = ExecutorArtifacts(spark_settings({"spark.pyspark.python": "/opt/python"})).explained(reason)
    assert ("executors run /opt/python" in explanation and "spark.pyspark.python" in explanation) is is_explained
    assert explanation.startswith(reason)
