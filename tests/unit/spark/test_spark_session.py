"""Settings that a session refuses before it starts Spark."""

from __future__ import annotations

import pytest

import hearth.spark
from hearth_api import ConfigError


@pytest.mark.parametrize(
    ("settings", "fact", "hint"),
    [
        ({"plugin.path": "x"}, "'plugin.path' is not a Spark setting", "spark.read or spark.write"),
        ({"master": "local"}, "'master' is not a Spark setting", "spark.read or spark.write"),
        ({"spark.cores.max": 2}, "'spark.cores.max' is 2, expected a string", "write '2'"),
    ],
)
def test_invalid_setting_is_an_error(
    settings: dict[str, str], fact: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the remedy, and Spark is not started."""
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    with pytest.raises(ConfigError, match=fact) as refused:
        hearth.spark.session(settings)
    assert refused.value.hint is not None
    assert hint in refused.value.hint
