"""`hearth status` on a running host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.integration.thread_host import file_source
from tests.peer.hearth_connect import hearth_environment
from tests.timeouts import TIMEOUT, eventually


def test_connectors_have_a_line_each_and_failed_ones_come_first(
    cli: Cli, host: Host, pair: tuple[str, str], name: str
) -> None:
    """With the first line of the trace."""
    broken = f"{name}-zz"
    how = {"misbehave.how": "raise", "misbehave.where": "poll", "topic": f"{name}-t"}
    config = {"name": broken, "connector.class": "org.example.MisbehavingSourceConnector", "tasks.max": "1", **how}
    assert host.rest.create(config).status == 201
    host.wait_for_state(broken, "FAILED")
    shown = cli("status")
    assert shown.code == 0
    lines = shown.out.splitlines()
    assert lines[0].split() == ["NAME", "TYPE", "STATE", "TASKS", "RATE", "LAG", "WORKER", "ERROR"]
    assert lines[1].split()[:3] == [broken, "source", "FAILED"]
    assert "Error" in lines[1]
    rows = {line.split()[0]: line.split()[1:4] for line in lines[1:]}
    assert rows[pair[0]] == ["source", "RUNNING", "1"]
    assert rows[pair[1]] == ["sink", "RUNNING", "1"]
    details = cli("status", broken).out
    assert "  task 0: FAILED" in details
    assert f"what to do: `hearth explain {broken}`; correct the configuration" in details
    assert cli("status", "--state", "failed", "--match", f"{name}.*", "-o", "name").out == f"{broken}\n"


def test_named_connectors_are_shown_with_their_tasks(cli: Cli, host: Host, pair: tuple[str, str]) -> None:
    """In the order of the states, then by name."""
    shown = cli("status", *pair)
    assert shown.code == 0
    assert f"{pair[0]}: RUNNING, source 4.3.1 on 127.0.0.1:{host.port}" in shown.out
    assert f"  task 0: RUNNING on 127.0.0.1:{host.port}" in shown.out
    assert " 0 restarts, " in shown.out


def test_rate_and_lag_are_in_the_table(cli: Cli, pair: tuple[str, str]) -> None:
    """A source has no lag, and a sink that has read all has none left."""

    def row(name: str) -> list[str]:
        return next(line.split() for line in cli("status").out.splitlines() if line.split()[:1] == [name])

    assert eventually(lambda: row(pair[1])[5] == "0", TIMEOUT), row(pair[1])
    source = row(pair[0])
    assert float(source[4]) >= 0
    assert source[5] == "-"


def test_the_document_has_all_members(cli: Cli, pair: tuple[str, str]) -> None:
    """One document with items and errors."""
    document = cli("status", pair[0], "--json").json
    (item,) = document["items"]
    assert document["errors"] == []
    assert item.keys() == {"name", "type", "state", "worst", "worker_id", "version", "trace", "tasks"}
    assert [task["state"] for task in item["tasks"]] == ["RUNNING"]
    assert cli("status", "--match", f"{pair[0]}|nosuch", "-o", "name").out == f"{pair[0]}\n"


def test_a_wrong_name_offers_the_nearest(cli: Cli, pair: tuple[str, str]) -> None:
    """And is bad input."""
    shown = cli("status", f"{pair[0]}x")
    assert (shown.code, shown.out) == (2, "")
    assert f"error: no connector '{pair[0]}x', did you mean '{pair[0]}'" in shown.err


def test_without_a_worker_the_address_is_named(program: Cli) -> None:
    """Exit code 3: it is not about what was asked."""
    shown = program("status", "--url", "http://127.0.0.1:9")
    assert shown.code == 3
    assert shown.err.startswith("error: no worker answers at http://127.0.0.1:9: ")


def test_watching_shows_each_change_within_a_second(cli: Cli, host: Host, name: str, tmp_path: Path) -> None:
    """A line of JSON for each, until it is interrupted."""
    host.run(file_source(name, tmp_path / "in.txt", name))
    command = [sys.executable, "-m", "hearth", "status", name, "--watch", "--json", "--url"]
    command.append(f"http://127.0.0.1:{host.port}")
    with (tmp_path / "watched").open("wb") as output:
        watching = subprocess.Popen(command, stdout=output, env=hearth_environment())
        try:
            assert eventually(lambda: states(tmp_path / "watched")[-1:] == ["RUNNING"], TIMEOUT)
            cli("connectors", "pause", name)
            assert eventually(lambda: states(tmp_path / "watched")[-1:] == ["PAUSED"], TIMEOUT)
        finally:
            watching.terminate()
            watching.wait()


def states(output: Path) -> list[str]:
    """Return the states of the only connector in complete lines of output."""
    lines = output.read_text().split("\n")[:-1]
    return [json.loads(line)["items"][0]["state"] for line in lines]
