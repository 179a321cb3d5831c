"""The order in which a host starts, and what is left of one that does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.cli import host as module
from hearth.cli.host import StandaloneHost
from hearth.config import StandaloneConfig
from hearth_api import ConnectError


class Cluster:
    """A cluster that nobody reaches."""

    def __init__(self, *_: Any) -> None:
        self.start = lambda: None

    def wait(self) -> str:
        """Say so."""
        raise ConnectError("no broker")


def test_spark_that_was_begun_ends_with_a_host_that_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It starts before the cluster is known, and its JVM would be nobody's."""
    told: list[str] = []

    class Spark:
        def __init__(self, *_: Any, **_named: Any) -> None:
            self.application = SimpleNamespace()
            self.start = lambda: told.append("start")
            self.stop = lambda: told.append("stop")

    monkeypatch.setattr(module, "ClusterLookup", Cluster)
    monkeypatch.setattr(module, "SparkLauncher", Spark)
    converter = "org.apache.kafka.connect.storage.StringConverter"
    worker = StandaloneConfig(
        {
            "bootstrap.servers": "127.0.0.1:1",
            "key.converter": converter,
            "value.converter": converter,
            "offset.storage.file.filename": str(tmp_path / "offsets"),
            "listeners": "http://127.0.0.1:0",
            "plugin.path": str(tmp_path),
        }
    )
    host = StandaloneHost(worker, told.append)
    with pytest.raises(ConnectError, match="no broker"):
        host.start()
    assert told == ["start"]
    host.stop()
    assert told == ["start", "stop"]
