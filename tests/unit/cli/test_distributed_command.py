"""Errors of `hearth distributed`: they have key, value and remedy, and no stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.cli.worker_file import read_worker
from hearth.cli.worker_mode import DISTRIBUTED
from hearth.foundation.properties import render
from hearth_api import ConfigError
from tests.spark_python import silent_spark

JSON = "org.apache.kafka.connect.json.JsonConverter"
SETTINGS = {
    "bootstrap.servers": "127.0.0.1:1",
    "group.id": "g",
    "key.converter": JSON,
    "value.converter": JSON,
    "config.storage.topic": "c",
    "offset.storage.topic": "o",
    "status.storage.topic": "s",
    "listeners": "http://127.0.0.1:0",
    "default.api.timeout.ms": "300",
}


@pytest.fixture
def worker(tmp_path: Path) -> Path:
    """Return where the worker's file is."""
    return tmp_path / "worker.properties"


def written(worker: Path, **changes: str | None) -> Path:
    """Write a valid file with changes; underscores in keys replace dots, None removes a key."""
    given = {key.replace("_", "."): value for key, value in changes.items()}
    worker.write_text(render({key: value for key, value in {**SETTINGS, **given}.items() if value is not None}))
    return worker


def test_host_without_a_broker_exits_with_3(worker: Path, tmp_path: Path) -> None:
    """Exit code 3, after it has read its file and started."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_HOME": silent_spark(tmp_path)}
    command = [sys.executable, "-m", "hearth", "distributed", str(written(worker, connect_protocol="eager"))]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environ, check=False)
    assert outcome.returncode == 3, outcome.stderr
    assert "connect.protocol has no effect" in outcome.stderr
    assert "error: no broker answered at bootstrap.servers='127.0.0.1:1'" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("missing", ["group_id", "config_storage_topic", "status_storage_topic"])
def test_missing_key_of_a_cluster_is_an_error(worker: Path, missing: str) -> None:
    """In Kafka Connect's words."""
    with pytest.raises(ConfigError, match=f'Missing required configuration "{missing.replace("_", ".")}"'):
        read_worker(written(worker, **{missing: None}), DISTRIBUTED)


def test_file_of_a_standalone_host_is_recognized(worker: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whether it lacks what a cluster needs, or not."""
    read_worker(written(worker, offset_storage_file_filename="/tmp/o"), DISTRIBUTED)
    assert "offset.storage.file.filename: this is a key of connect-standalone; a distributed host" in caplog.text
    with pytest.raises(ConfigError) as caught:
        read_worker(written(worker, offset_storage_file_filename="/tmp/o", group_id=None), DISTRIBUTED)
    assert str(caught.value.hint).startswith("this is a file for connect-standalone")
