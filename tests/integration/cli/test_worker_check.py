"""`hearth standalone --check` and `hearth distributed --check` find what would end a host, and start none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hearth.foundation.properties import render
from tests.peer.distributed import cluster_settings
from tests.peer.hearth_connect import file_bundle, hearth_environment
from tests.reservation import reserve_port

STRING = "org.apache.kafka.connect.storage.StringConverter"


def check(folder: Path, mode: str, settings: dict[str, str], *connectors: dict[str, str]) -> tuple[int, str]:
    """Check files; returns the exit code and the output. No broker runs at the named address."""
    worker = {
        "bootstrap.servers": f"127.0.0.1:{reserve_port()}",
        "key.converter": STRING,
        "value.converter": STRING,
        "plugin.path": str(file_bundle()),
        **settings,
    }
    files = []
    for number, config in enumerate((worker, *connectors)):
        files.append(folder / f"{number}.properties")
        files[-1].write_text(render(config))
    command = [sys.executable, "-m", "hearth", mode, "--check", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, env=hearth_environment(), timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_worker_and_its_connectors_are_checked_without_kafka(tmp_path: Path) -> None:
    """Errors and warnings name the file and the key."""
    alone = {"offset.storage.file.filename": str(tmp_path / "offsets"), "ofset.flush.interval.ms": "1"}
    good = {"name": "good", "connector.class": "FileStreamSource", "topic": "t", "flie": "x"}
    bad = {"name": "bad", "connector.class": "FileStreamSink", "topics": "", "tasks.max": "x"}
    unknown = {"name": "unknown", "connector.class": "FileStreamSurce"}
    code, output = check(tmp_path, "standalone", alone, good, bad, unknown)
    assert code == 2
    assert "unknown key 'ofset.flush.interval.ms' has no effect, did you mean 'offset.flush.interval.ms'?" in output
    assert "the worker is valid, " in output
    assert "1.properties: is valid" in output
    assert "1.properties: warning: flie: " in output
    assert "2.properties: error: tasks.max: Invalid value x" in output
    assert "3.properties: error: Failed to find any class that implements Connector" in output
    assert not (tmp_path / "offsets").exists()


@pytest.mark.parametrize(("changes", "code"), [({}, 0), ({"value.converter": "Nosuch"}, 2)])
def test_a_cluster_workers_file_is_checked(tmp_path: Path, changes: dict[str, str], code: int) -> None:
    """With the exit code that a script needs."""
    found, output = check(tmp_path, "distributed", {**cluster_settings("checked"), **changes})
    assert found == code, output
