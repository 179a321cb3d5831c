"""`hearth broker` as a user runs it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hearth.foundation.user_file import cache_directory
from tests.peer.topic import Topics
from tests.reservation import reserve_port

pytestmark = pytest.mark.slow
_ROOT = Path(__file__).resolve().parents[3]


def _command(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hearth", "broker", *arguments]
    variables = {**os.environ, "PYTHONPATH": str(_ROOT / "host"), **environment}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=variables)


def _read_until(process: subprocess.Popen[str], word: str) -> Sequence[str]:
    """Return the lines on stderr up to the one that contains a word."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if word in line:
            return lines
    raise AssertionError(f"{word!r} was not printed: {lines}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_broker_serves_until_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    """The command prints the next steps, serves clients, and exits with 0 on Ctrl-C and on SIGTERM."""
    port = reserve_port()
    with _command("--port", str(port), "--data-dir", str(tmp_path)) as process:
        output = _read_until(process, "Ctrl-C")
        assert f"bootstrap.servers=127.0.0.1:{port}" in "".join(output)
        assert Topics(f"127.0.0.1:{port}").names() == set()
        process.send_signal(number)
        _read_until(process, "stopping Kafka")
    assert process.returncode == 0


def test_data_is_below_hearth_home(tmp_path: Path) -> None:
    """Without --data-dir the data is below HEARTH_HOME; jars are looked up there too, so the test links them."""
    (tmp_path / "jars").symlink_to(cache_directory("jars"))
    with _command("--port", str(reserve_port()), HEARTH_HOME=str(tmp_path)) as process:
        _read_until(process, "Ctrl-C")
        assert (tmp_path / "broker" / "server.properties").is_file()
        process.terminate()
        process.communicate()


def test_missing_java_exits_with_the_environment_code(tmp_path: Path) -> None:
    """Exit code 3, a message and a hint, and no stack trace."""
    with _command("--data-dir", str(tmp_path), JAVA_HOME=str(tmp_path / "nothing")) as process:
        _, output = process.communicate()
    assert process.returncode == 3
    assert "JAVA_HOME is" in output
    assert "hint: " in output
    assert "Traceback" not in output
