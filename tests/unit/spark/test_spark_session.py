"""What a session refuses before it starts Spark."""

from __future__ import annotations

import pytest

import hearth.spark
from hearth_api import ConfigError


@pytest.mark.parametrize(
    ("settings", "fact", "hint"),
    [
        ({"plugin.path": "x"}, "setting 'plugin.path' is none of Spark's", "spark.read and spark.write"),
        ({"master": "local"}, "setting 'master' is none of Spark's", "spark.read and spark.write"),
        ({"spark.cores.max": 2}, "setting 'spark.cores.max' is 2, and Spark takes texts", "write '2'"),
    ],
)
def test_a_setting_that_spark_would_not_understand_is_named(
    settings: dict[str, str], fact: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the remedy, and Spark is not started."""
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    with pytest.raises(ConfigError, match=fact) as refused:
        hearth.spark.session(settings)
    assert refused.value.hint is not None
    assert hint in refused.value.hint
