"""A misspelled setting is reported; other names unknown to Spark are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hearth.spark.setting_name import misspelled


class Entries:
    """What Spark has registered; `tests/integration/test_variable.py` asks a real one."""

    def __init__(self) -> None:
        self.known = ["spark.executor.memory", "spark.cores.max"]
        self.listed = 0

    def findEntry(self, name: str) -> object:
        """Return an entry."""
        return name if name in self.known else None

    def knownConfigs(self) -> Any:
        """Return all."""
        self.listed += 1
        return SimpleNamespace(keySet=lambda: self.known)


def test_only_misspelled_names_are_reported() -> None:
    """And nothing is listed where every name is known."""
    entries = Entries()
    config = SimpleNamespace(**{"ConfigEntry$": SimpleNamespace(**{"MODULE$": entries})})
    spark = SimpleNamespace(internal=SimpleNamespace(config=config))
    context = SimpleNamespace(_jvm=SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark))))
    assert misspelled(context, ["spark.cores.max"]) == []
    assert entries.listed == 0
    names = ["spark.executor.memroy", "spark.kubernetes.namespace", "spark.hadoop.fs.s3a.access.key"]
    assert misspelled(context, names) == [
        "Spark has no setting 'spark.executor.memroy', did you mean 'spark.executor.memory'?"
    ]
