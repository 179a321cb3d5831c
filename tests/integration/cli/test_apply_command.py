"""`hearth diff` and `hearth apply` on a running host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth.foundation.properties import render
from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.integration.thread_host import file_sink, file_source
from tests.peer.topic import Topics


@pytest.fixture
def folder(tmp_path: Path, name: str) -> Path:
    """Provide a folder with a source in properties, a sink in JSON and one in Strimzi's YAML."""
    made = tmp_path / "connectors"
    (made / "team").mkdir(parents=True)
    source = file_source(f"{name}-a", tmp_path / "in.txt", name)
    (made / "a.properties").write_text(render(source))
    sink = file_sink(f"{name}-b", tmp_path / "b.txt", name)
    (made / "team" / "b.json").write_text(json.dumps({"name": sink["name"], "config": sink}))
    (made / "team" / "c.yaml").write_text(
        f"""\
apiVersion: kafka.strimzi.io/v1
kind: KafkaConnector
metadata:
  name: {name}-c
  labels: {{strimzi.io/cluster: connect}}
spec:
  class: org.apache.kafka.connect.file.FileStreamSinkConnector
  tasksMax: 1
  state: paused
  config:
    file: {tmp_path / "c.txt"}
    topics: {name}
---
apiVersion: kafka.strimzi.io/v1
kind: KafkaTopic
metadata: {{name: other}}
"""
    )
    (made / "README.md").write_text("no connector")
    (tmp_path / "in.txt").write_text("one\n")
    return made


def test_a_folder_is_applied_once(cli: Cli, host: Host, folder: Path, name: str) -> None:
    """What is planned is what happens, and then nothing differs."""
    files = ("-f", str(folder))
    planned = cli("diff", *files, "--exit-code")
    assert planned.code == 4
    assert planned.out.splitlines()[0] == f"+ create {name}-a"
    assert planned.out.splitlines()[-1].startswith("3 to change, 0 unchanged; plan ")
    assert cli("apply", *files, "--dry-run").code == 0
    assert f"{name}-a" not in host.rest.call("GET", "/connectors").json
    refused = cli("apply", *files)
    assert (refused.code, "hint: --yes, or --plan" in refused.err) == (2, True)
    done = cli("apply", *files, "--yes", "--wait")
    assert done.code == 0, done
    assert [line for line in done.out.splitlines() if line.startswith("created")] == [
        f"created {name}-{each}" for each in "abc"
    ]
    assert done.out.endswith("3 connectors are in the expected state\n")
    assert [host.rest.states(f"{name}-{each}") for each in "abc"] == [["RUNNING"] * 2, ["RUNNING"] * 2, ["PAUSED"]]
    again = cli("diff", *files, "--exit-code", "--json")
    assert (again.code, [each["action"] for each in again.json["items"]]) == (0, ["keep"] * 3)


def test_a_change_shows_its_keys_and_restarts_tasks(
    cli: Cli, host: Host, folder: Path, name: str, tmp_path: Path, topics: Topics
) -> None:
    """The plan's hash is the approval, and another plan is refused."""
    files = ("-f", str(folder / "a.properties"))
    assert cli("apply", *files, "--yes", "--wait").code == 0
    (tmp_path / "other.txt").write_text("two\n")
    path = folder / "a.properties"
    path.write_text(path.read_text().replace("in.txt", "other.txt") + "database.password=hunter2\n")
    planned = cli("diff", *files)
    assert f"~ update {name}-a, restarts 1 task" in planned.out
    assert f"    ~ file: {tmp_path / 'in.txt'} → {tmp_path / 'other.txt'}" in planned.out
    assert "    + database.password: [hidden]" in planned.out
    assert "hunter2" not in planned.out
    plan = planned.out.split()[-1]
    wrong = cli("apply", *files, "--plan", "0123456789ab")
    assert (wrong.code, wrong.err.splitlines()[0]) == (2, f"error: the plan is {plan}, not 0123456789ab")
    done = cli("apply", *files, "--plan", plan, "--wait", "--json")
    assert done.code == 0
    assert done.json["items"][0]["done"] == "updated"
    assert host.rest.call("GET", f"/connectors/{name}-a/config").json["file"].endswith("other.txt")


def test_all_files_are_validated_before_anything_changes(cli: Cli, host: Host, folder: Path, name: str) -> None:
    """A wrong key, a wrong class with the nearest name, and nothing is created."""
    sink = folder / "team" / "b.json"
    sink.write_text(sink.read_text().replace(f'"topics": "{name}"', '"topics": ""'))
    path = folder / "a.properties"
    path.write_text(path.read_text().replace("FileStreamSourceConnector", "FileStreamSuorceConnector"))
    done = cli("apply", "-f", str(folder), "--yes")
    assert done.code == 2
    assert f"error: {name}-b: invalid configuration:\n  topics: " in done.err
    assert "FileStreamSuorceConnector' is no plugin of the worker, did you mean" in done.err
    assert [each for each in host.rest.call("GET", "/connectors").json if each.startswith(name)] == []


def test_prune_deletes_what_the_owner_no_longer_has(cli: Cli, host: Host, folder: Path, name: str) -> None:
    """Nothing else, and more than half only if asked to."""
    files = ("-f", str(folder), "--owner", name)
    host.run(file_source(f"{name}-foreign", folder.parent / "in.txt", name))
    assert cli("apply", *files, "--yes").code == 0
    assert host.rest.call("GET", "/hearth/owners").json == {f"{name}-{each}": name for each in "abc"}
    (folder / "a.properties").unlink()
    assert cli("apply", "-f", str(folder), "--prune", "--yes").code == 2
    planned = cli("diff", *files, "--prune")
    assert f"- delete {name}-a" in planned.out
    assert cli("apply", *files, "--prune", "--yes", "--wait").code == 0
    left = host.rest.call("GET", "/connectors").json
    assert sorted(each for each in left if each.startswith(name)) == [f"{name}-b", f"{name}-c", f"{name}-foreign"]
    (folder / "team" / "b.json").unlink()
    (folder / "team" / "c.yaml").write_text((folder / "team" / "c.yaml").read_text().replace(f"{name}-c", f"{name}-d"))
    refused = cli("apply", *files, "--prune", "--yes")
    assert (refused.code, "--prune=all deletes more than half" in refused.err) == (2, True)
    assert cli("apply", *files, "--prune=all", "--yes").code == 0
    foreign = cli("diff", "-f", str(folder), "--owner", "someone-else")
    assert (foreign.code, f"belongs to '{name}'" in foreign.err) == (2, True)
    assert cli("apply", "-f", str(folder), "--owner", f"{name}-2", "--adopt", "--yes").code == 0
    assert host.rest.call("GET", "/hearth/owners").json == {f"{name}-d": f"{name}-2"}


@pytest.mark.parametrize("where", ["start", "connector.start"])
def test_a_connector_that_fails_ends_the_wait(cli: Cli, tmp_path: Path, name: str, where: str) -> None:
    """With exit code 1 and the reason, whether a task or the connector fails."""
    config = {"connector.class": "org.example.MisbehavingSourceConnector", "topic": name, "misbehave.how": "raise"}
    (tmp_path / "c.json").write_text(json.dumps({"name": name, "config": {**config, "misbehave.where": where}}))
    done = cli("apply", "-f", str(tmp_path / "c.json"), "--yes", "--wait")
    assert done.code == 1
    assert f"raised in {where} as configured" in done.err


def test_connectors_from_standard_input(cli: Cli, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `hearth export` writes them."""
    (tmp_path / "one.yaml").write_text(f"name: {name}\nconnector.class: FileStreamSource\ntopic: {name}\n")
    with (tmp_path / "one.yaml").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert cli("diff", "-f", "-").out.startswith(f"+ create {name}\n")


def test_a_folder_without_connectors_is_an_error(cli: Cli, tmp_path: Path) -> None:
    """It is more likely a wrong path than a wish for nothing, above all with --prune."""
    (tmp_path / "empty").mkdir()
    done = cli("apply", "-f", str(tmp_path / "empty"), "--yes")
    assert (done.code, "no connector in it" in done.err) == (2, True)


def test_applying_a_hundred_connectors_takes_seconds(cli: Cli, host: Host, tmp_path: Path, name: str) -> None:
    """They are stopped, so that no task takes part in what is measured."""
    for number in range(100):
        config = file_source(f"{name}-{number:03}", tmp_path / "in.txt", name)
        document = {"name": config["name"], "config": config, "initial_state": "STOPPED"}
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    done = cli("apply", "-f", str(tmp_path), "--yes")
    assert (done.code, done.out.count("\ncreated ")) == (0, 100)
    assert cli("connectors", "delete", "--match", f"{name}-.*", "--yes").code == 0
