"""`hearth doctor` names what keeps a worker from running, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer

from hearth.foundation.properties import render
from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.peer.distributed import cluster_settings
from tests.peer.hearth_connect import file_bundle
from tests.peer.topic import Topics
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.fixture
def settings(topics: Topics) -> dict[str, str]:
    """Provide the settings of a cluster's worker."""
    return {
        "bootstrap.servers": topics.bootstrap_servers,
        "key.converter": STRING,
        "value.converter": STRING,
        "plugin.path": str(file_bundle()),
        "listeners": f"http://127.0.0.1:{reserve_port()}",
        **cluster_settings("doctor"),
    }


def findings(program: Cli, folder: Path, settings: dict[str, str]) -> tuple[int, dict[str, list[Any]]]:
    """Return the exit code, and the findings of each check."""
    (folder / "worker.properties").write_text(render(settings))
    printed = program("doctor", str(folder / "worker.properties"), "--json")
    found: dict[str, list[Any]] = {}
    for each in printed.json["items"]:
        found.setdefault(each["check"], []).append(each)
    return printed.code, found


def test_a_sound_worker_passes(program: Cli, topics: Topics, tmp_path: Path, settings: dict[str, str]) -> None:
    """Its topics are looked at and not created."""
    before = topics.names()
    code, found = findings(program, tmp_path, settings)
    assert code == 0, found
    assert {
        "java",
        "disk",
        "files",
        "listeners",
        "plugins",
        "converters",
        "clients",
        "kafka",
        "topics",
        "group",
    } == set(found)
    assert found["topics"][0]["fact"] == "topic 'doctor-configs' will be created"
    assert topics.names() - {"__consumer_offsets"} == before - {"__consumer_offsets"}  # the brokers' own


def test_topics_that_are_not_compacted_fail(
    program: Cli, topics: Topics, tmp_path: Path, settings: dict[str, str]
) -> None:
    """With the command that mends it."""
    policies = {"doctor-made-configs": "delete", "doctor-made-offsets": "compact"}
    for each, policy in policies.items():
        topics.create(each, settings={"cleanup.policy": policy})
    assert eventually(lambda: policies.keys() <= topics.names(), TIMEOUT)
    code, found = findings(program, tmp_path, {**settings, **cluster_settings("doctor-made")})
    assert code == 2, found
    assert [each["level"] for each in found["topics"]] == ["fail", "pass", "pass"]
    assert "cleanup.policy=compact" in found["topics"][0]["remedy"]


def test_the_worst_failure_decides(
    program: Cli, tmp_path: Path, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that does not answer comes before a converter that does not exist."""
    monkeypatch.setattr("hearth.cli.doctor_check.BROKER_SECONDS", 1.0)
    wrong = {"value.converter": "StringConvertr", "plugin.path": str(tmp_path / "nowhere")}
    code, found = findings(program, tmp_path, {**settings, **wrong})
    assert code == 2, found
    assert "nearest names: StringConverter" in found["converters"][0]["remedy"]
    assert "nowhere of plugin.path does not exist" in found["plugins"][0]["fact"]
    away = {**settings, **wrong, "bootstrap.servers": f"127.0.0.1:{reserve_port()}"}
    code, found = findings(program, tmp_path, away)
    assert (code, found["kafka"][0]["level"]) == (3, "fail")


def test_findings_are_lines_with_what_to_do(
    program: Cli, topics: Topics, tmp_path: Path, settings: dict[str, str]
) -> None:
    """A port in use is a warning: the host itself may hold it."""
    port = topics.bootstrap_servers.rpartition(":")[2]
    taken = {**settings, "listeners": f"http://127.0.0.1:{port}"}
    (tmp_path / "worker.properties").write_text(render(taken))
    printed = program("doctor", str(tmp_path / "worker.properties"))
    assert printed.code == 0
    assert f"warn  listeners  http://127.0.0.1:{port}: address already in use" in printed.out
    assert "what to do: stop who listens there" in printed.out


def test_topics_need_as_many_brokers_as_replicas(program: Cli, tmp_path: Path, settings: dict[str, str]) -> None:
    """Else the worker waits for them, and its requests time out."""
    code, found = findings(program, tmp_path, {**settings, "config.storage.replication.factor": "3"})
    (finding,) = [each for each in found["topics"] if each["level"] == "fail"]
    assert code == 2
    assert finding["fact"] == "topic 'doctor-configs' is missing and cannot be created: 3 replicas, 1 brokers"


def test_a_consumer_in_the_group_is_named(
    program: Cli, topics: Topics, tmp_path: Path, settings: dict[str, str], name: str
) -> None:
    """It would keep a worker from leading."""
    topics.create(name)
    consumer = Consumer({"bootstrap.servers": topics.bootstrap_servers, "group.id": name, "client.id": "stranger"})
    consumer.subscribe([name])
    try:
        assert eventually(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()), TIMEOUT)
        code, found = findings(program, tmp_path, {**settings, "group.id": name})
    finally:
        consumer.close()
    assert (code, found["group"][0]["level"]) == (2, "fail")
    assert "a member that is no Hearth host: 'stranger'" in found["group"][0]["fact"]


def test_a_running_cluster_is_checked(cli: Cli, host: Host, pair: tuple[str, str], name: str) -> None:
    """Workers, connectors by their explanation, and settings that lose records; nothing changes."""
    broken = f"{name}-zz"
    config = {"name": broken, "connector.class": "org.example.MisbehavingSourceConnector", "tasks.max": "1"}
    config |= {"misbehave.how": "raise", "misbehave.where": "poll", "topic": f"{name}-t"}
    assert host.rest.create(config).status == 201
    host.wait_for_state(broken, "FAILED")
    before = host.rest.call("GET", "/connectors?expand=status&expand=info").json
    checked = cli("doctor", "--json")
    after = host.rest.call("GET", "/connectors?expand=status&expand=info").json
    assert after == before
    facts = {each["fact"]: each for each in checked.json["items"]}
    worker = next(each for fact, each in facts.items() if fact.startswith(f"127.0.0.1:{host.port} is healthy"))
    assert (worker["check"], worker["level"]) == ("worker", "pass")
    assert f"{pair[0]} is RUNNING" in facts
    failed = next(each for fact, each in facts.items() if fact.startswith(f"{broken} (task 0): task failed: "))
    assert (checked.code, failed["level"], failed["code"]) == (1, "fail", 1)
    assert failed["remedy"]


def test_a_worker_that_is_away_is_named(cli: Cli, host: Host) -> None:
    """With the setting that others find it by."""
    urls = f"http://127.0.0.1:{host.port},http://127.0.0.1:9"
    checked = cli("doctor", "--url", urls, "--json")
    away = next(each for each in checked.json["items"] if each["fact"].startswith("127.0.0.1:9: "))
    assert (checked.code, away["level"], away["code"]) == (3, "fail", 3)
    assert "rest.advertised.host.name" in away["remedy"]
