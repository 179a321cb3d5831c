"""`hearth connectors` on a running host."""

from __future__ import annotations

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.peer.topic import Record, Topics


def test_states_change_and_are_waited_for(cli: Cli, host: Host, pair: tuple[str, str], name: str) -> None:
    """One, several by pattern, and all of a state."""
    pattern = ("--match", f"{name}-.*")
    paused = cli("connectors", "pause", *pattern)
    assert (paused.code, paused.out) == (0, f"paused {pair[0]}\npaused {pair[1]}\n")
    assert cli("connectors", "wait", *pair, "--for", "paused", "--settle", "0").code == 0
    assert host.rest.states(pair[1]) == ["PAUSED", "PAUSED"]
    resumed = cli("connectors", "resume", "--state", "paused", *pattern, "--json")
    assert [each["name"] for each in resumed.json["items"]] == list(pair)
    waited = cli("connectors", "wait", *pair, "--settle", "500ms")
    assert (waited.code, waited.out) == (0, f"{pair[0]} is running\n{pair[1]} is running\n")
    assert cli("connectors", "stop", pair[0], "-o", "name").out == f"{pair[0]}\n"
    assert cli("connectors", "wait", pair[0], "--for", "stopped", "--settle", "0").code == 0


def test_restarting_prints_the_states_of_the_answer(cli: Cli, pair: tuple[str, str]) -> None:
    """Failed parts alone by default; nothing else is touched."""
    assert cli("connectors", "restart", pair[0]).out == f"restarted {pair[0]}: connector RUNNING, task 0 RUNNING\n"
    every = cli("connectors", "restart", pair[0], "--tasks", "all").out
    assert every == f"restarted {pair[0]}: connector RESTARTING, task 0 RESTARTING\n"
    assert cli("connectors", "restart", pair[0], "--tasks", "none").out == f"restarted {pair[0]}\n"
    assert cli("connectors", "wait", pair[0], "--settle", "0").code == 0


def test_waiting_ends_with_its_own_code_when_time_is_over(cli: Cli, pair: tuple[str, str]) -> None:
    """With the states of that moment."""
    waited = cli("connectors", "wait", pair[0], "--for", "paused", "--timeout", "300ms")
    assert waited.code == 5
    assert f"after 0.3 s {pair[0]} is RUNNING, tasks 0: RUNNING" in waited.err


def test_a_sink_is_waited_for_until_it_has_read_all(
    cli: Cli, pair: tuple[str, str], topics: Topics, name: str
) -> None:
    """By the ends that its partitions have from then on; a source has none."""
    topics.produce(f"{name}-lines", [Record(None, b"more")] * 50)
    waited = cli("connectors", "wait", pair[1], "--for", "lag=0")
    assert (waited.code, waited.out) == (0, f"{pair[1]} is at most 0 records behind\n")
    report = cli("explain", pair[1], "--json").json
    assert report["condition"] in ("idle", "flows")
    late = cli("connectors", "wait", pair[0], "--for", "lag=0", "--timeout", "300ms")
    assert (late.code, "is at no known offset" in late.err) == (5, True)
    wrong = cli("connectors", "wait", pair[0], "--for", "runing")
    assert (wrong.code, "did you mean 'running'" in wrong.err) == (2, True)


def test_deleting_asks_first_and_is_waited_for(cli: Cli, pair: tuple[str, str]) -> None:
    """Where nobody can answer, --yes is needed."""
    refused = cli("connectors", "delete", pair[0])
    assert (refused.code, "hint: --yes" in refused.err) == (2, True)
    assert cli("connectors", "delete", pair[0], "--yes").out == f"deleted {pair[0]}\n"
    assert cli("connectors", "wait", pair[0], "--for", "deleted").out == f"{pair[0]} is deleted\n"
    gone = cli("connectors", "list", "--json").json
    assert pair[0] not in {each["name"] for each in gone["items"]}


def test_nobody_means_all_by_accident(cli: Cli, pair: tuple[str, str]) -> None:
    """An action without a name is refused."""
    refused = cli("connectors", "pause")
    assert (refused.code, "--all" in refused.err) == (2, True)
    wrong = cli("connectors", "pause", "--match", "(")
    assert (wrong.code, "not a regular expression" in wrong.err) == (2, True)


def test_a_list_has_classes_and_a_description_everything(cli: Cli, pair: tuple[str, str]) -> None:
    """The description is one document."""
    rows = [line.split() for line in cli("connectors", "list").out.splitlines()]
    assert [pair[1], "sink", "org.apache.kafka.connect.file.FileStreamSinkConnector", "RUNNING"] in rows
    described = cli("connectors", "describe", pair[1]).json
    assert described["config"]["name"] == pair[1]
    assert described["tasks"][0]["state"] == "RUNNING"
    assert isinstance(described["offsets"], list)
