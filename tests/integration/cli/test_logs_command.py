"""`hearth logs` on a running host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.peer.hearth_connect import hearth_environment
from tests.timeouts import TIMEOUT, eventually


def test_lines_about_a_connector_are_printed(cli: Cli, pair: tuple[str, str]) -> None:
    """Also those of its tasks, which other processes log; nobody else's."""
    assert eventually(lambda: "the task runs in process" in cli("logs", pair[0]).out, TIMEOUT)
    lines = cli("logs", pair[0]).out.splitlines()
    assert any(f"[{pair[0]}|worker] the connector is RUNNING" in line for line in lines)
    assert not any(pair[1] in line for line in lines)
    assert len(cli("logs", pair[0], "--tail", "1").out.splitlines()) == 1
    assert cli("logs", pair[0], "--tail", "0").out == ""
    (line, *_) = cli("logs", pair[0], "--json").out.splitlines()
    assert '"worker_id": "127.0.0.1:' in line
    assert cli("logs", pair[0], "--level", "fatal").out == ""


def test_new_lines_are_followed(cli: Cli, host: Host, pair: tuple[str, str], tmp_path: Path) -> None:
    """Each once, until it is interrupted."""
    command = [sys.executable, "-m", "hearth", "logs", pair[0], "--follow", "--url", f"http://127.0.0.1:{host.port}"]
    with (tmp_path / "followed").open("wb") as output:
        following = subprocess.Popen(command, stdout=output, env=hearth_environment())
        try:
            shown = tmp_path / "followed"
            assert eventually(lambda: "the connector is RUNNING" in shown.read_text(), TIMEOUT)
            cli("connectors", "pause", pair[0])
            assert eventually(lambda: "the connector is PAUSED" in shown.read_text(), TIMEOUT)
        finally:
            following.terminate()
            following.wait()
    lines = shown.read_text().splitlines()
    assert len(lines) == len(set(lines))


def test_lines_of_the_worker_have_no_connector(cli: Cli, pair: tuple[str, str]) -> None:
    """And a wrong name offers the nearest."""
    assert f"[{pair[0]}|" not in cli("logs").out
    refused = cli("logs", f"{pair[0]}x")
    assert (refused.code, f"did you mean '{pair[0]}'" in refused.err) == (2, True)
