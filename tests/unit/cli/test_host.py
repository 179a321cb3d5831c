"""The start order of a host, and the cleanup after a failed start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hearth.cli import host as module
from hearth.cli.host import StandaloneHost
from hearth.config import StandaloneConfig
from hearth_api import ConnectError


class Cluster:
    """A cluster that cannot be reached."""

    def __init__(self, *_: Any) -> None:
        self.start = lambda: None

    def wait(self) -> str:
        """Say so."""
        raise ConnectError("no broker")


def test_spark_stops_when_its_host_fails_to_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark starts before the cluster is known; without the stop its JVM would remain."""
    calls: list[str] = []

    class Spark:
        def __init__(self, *_: Any, **_named: Any) -> None:
            self.application = SimpleNamespace()
            self.start = lambda: calls.append("start")
            self.stop = lambda: calls.append("stop")

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
    host = StandaloneHost(worker, calls.append)
    with pytest.raises(ConnectError, match="no broker"):
        host.start()
    assert calls == ["start"]
    host.stop()
    assert calls == ["start", "stop"]


WAITING = """
import signal, threading
from types import SimpleNamespace
from hearth.cli.host import Host
from hearth.cli.signal_end import interrupt_on_signals

def hear():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])  # as in one that was there before
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

interrupt_on_signals()
threading.Timer(0.2, hear).start()
try:
    Host.wait(SimpleNamespace(_failed=threading.Event()))
except KeyboardInterrupt:
    print("ended")
"""


def test_signal_delivered_to_another_thread_ends_the_host() -> None:
    """The system chooses the thread, and does not wake the one that the interpreter lets hear of it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WAITING]
    assert subprocess.run(command, env=environment, check=True, capture_output=True).stdout == b"ended\n"
