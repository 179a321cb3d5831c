"""`hearth distributed --from-environment`, as an image or systemd starts it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.cli.environment_file import variable_of
from tests.peer.distributed import cluster_settings
from tests.peer.hearth_connect import file_bundle, hearth_environment
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT

pytestmark = pytest.mark.slow
JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_a_worker_takes_its_keys_from_variables_and_tells_systemd_how_it_is(
    broker: KafkaBroker, tmp_path: Path
) -> None:
    """It is ready once it answers, alive while the watchdog asks, and stops in order on SIGTERM."""
    port = reserve_port()
    secret = tmp_path / "servers"
    secret.write_text(broker.bootstrap_servers + "\n")
    keys = {
        **cluster_settings("environment"), "key.converter": JSON, "value.converter": JSON,
        "listeners": f"http://127.0.0.1:{port}", "rest.advertised.host.name": "127.0.0.1",
        "plugin.path": str(file_bundle()),
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(TIMEOUT)
        variables = {
            **hearth_environment(), **{variable_of(key): value for key, value in keys.items()},
            "CONNECT_BOOTSTRAP_SERVERS_FILE": str(secret), "CONNECT_LOG4J_ROOT_LOGLEVEL": "WARN",
            "KAFKA_HEAP_OPTS": "-Xmx1g", "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000",
        }  # fmt: skip
        command = [sys.executable, "-m", "hearth", "distributed", "--from-environment"]
        with subprocess.Popen(command, cwd=tmp_path, env=variables, stderr=subprocess.PIPE, text=True) as host:
            try:
                assert manager.recv(100) == b"READY=1"
                for path in ("/health", "/health/live"):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=TIMEOUT) as answer:
                        assert json.load(answer)["status"] == "healthy"
                assert manager.recv(100) == b"WATCHDOG=1"
            finally:
                host.send_signal(signal.SIGTERM)
                _, words = host.communicate(timeout=TIMEOUT)
        assert host.returncode in (0, -signal.SIGTERM, 130, 143), words
        seen = {b"WATCHDOG=1"}
        while b"STOPPING=1" not in seen:
            seen.add(manager.recv(100))
    assert "KAFKA_HEAP_OPTS has no effect" in words
    assert " INFO " not in words


def test_without_a_file_or_the_option_nothing_starts() -> None:
    """Nor with both, nor with a variable missing; the message says what to set."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("CONNECT_")}
    variables = {**hearth_environment(), **clean, "PYTHONPATH": hearth_environment()["PYTHONPATH"]}
    for arguments, words in (
        ([], "give either WORKER.properties or --from-environment"),
        (["worker.properties", "--from-environment"], "give either WORKER.properties or --from-environment"),
        (["--from-environment"], "hint: a variable is CONNECT_ and the key: CONNECT_GROUP_ID sets group.id"),
    ):
        command = [sys.executable, "-m", "hearth", "distributed", *arguments]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
