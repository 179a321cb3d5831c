"""Plans compare texts, hide secrets, and have a hash over both sides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hearth.client.change_plan import ChangePlan, ConnectorChange, PlanOptions, make_plan
from hearth.client.connector_file import ConnectorFile
from hearth.client.remote_cluster import RemoteCluster, RemoteConnector, RemoteTask
from hearth_api import ConfigError
from tests.unit.rest.client import CONFIG, Client

PATH = Path("c.json")


def file(name: str = "c", initial_state: str | None = None, state: str | None = None, **config: str) -> ConnectorFile:
    """Return a file of a source connector."""
    return ConnectorFile(PATH, name, {**CONFIG, "name": name, **config}, initial_state, state)


def present(config: dict[str, str], state: str = "RUNNING") -> RemoteConnector:
    """Return a connector with two tasks."""
    tasks = tuple(RemoteTask(each, state, "w") for each in range(2))
    return RemoteConnector("c", "source", state, "w", config, tasks)


def plan_of(cluster: RemoteCluster, *files: ConnectorFile, **options: Any) -> ChangePlan:
    """Return the plan for some files."""
    return make_plan(cluster, files, PlanOptions(**options))


def actions(plan: ChangePlan) -> dict[str, str]:
    """Return the action for each connector."""
    return {each.name: each.action for each in plan.changes}


def test_a_plan_is_create_then_keep_then_update(served: Client, cluster: RemoteCluster) -> None:
    """Each plan has another hash, and the same plan the same."""
    creation = plan_of(cluster, file())
    assert actions(creation) == {"c": "create"}
    assert creation.hash == plan_of(cluster, file()).hash
    served.create("c")
    assert actions(plan_of(cluster, file())) == {"c": "keep"}
    update = plan_of(cluster, file(topic="other"))
    assert [str(each) for each in update.changes[0].differing_keys()] == ["~ topic: t → other"]
    assert len({creation.hash, update.hash, plan_of(cluster, file(topic="third")).hash}) == 3
    served.call("PUT", "/connectors/c/config", {**CONFIG, "name": "c", "topic": "meanwhile"})
    assert plan_of(cluster, file(topic="other")).hash != update.hash


def test_an_invalid_configuration_is_an_error_of_its_connector(served: Client, cluster: RemoteCluster) -> None:
    """The others are planned."""
    plan = plan_of(cluster, file("a", **{"tasks.max": "x"}), file("b"))
    ((name, error),) = plan.errors
    assert name == "a"
    assert "tasks.max: Invalid value x" in str(error)
    assert actions(plan) == {"a": "create", "b": "create"}


def test_states_of_files_are_requested() -> None:
    """That of a resource always; an initial one only of a new connector."""
    running, paused = present({"name": "c"}), present({"name": "c"}, "PAUSED")
    assert ConnectorChange("c", "update", file(state="PAUSED"), running).state == "PAUSED"
    assert ConnectorChange("c", "update", file(state="RUNNING"), paused).state == "RUNNING"
    assert ConnectorChange("c", "update", file(state="PAUSED"), paused).state is None
    assert ConnectorChange("c", "update", file(initial_state="PAUSED"), running).state is None
    assert ConnectorChange("c", "update", file(), paused).goal == "PAUSED"
    assert ConnectorChange("c", "create", file(initial_state="STOPPED")).goal == "STOPPED"
    assert ConnectorChange("c", "create", file()).goal == "RUNNING"


def test_secrets_are_hidden_and_variables_shown() -> None:
    """Keys that the plugin declares as passwords, and those whose names say so."""
    new = file(**{"db.password": "a", "pin": "b", "api.token": "${file:/x:t}", "gone": "1"})
    change = ConnectorChange("c", "update", new, present({"db.password": "old"}), frozenset({"pin"}))
    shown = {each.key: (each.old, each.new) for each in change.differing_keys()}
    assert shown["db.password"] == ("[hidden]", "[hidden]")
    assert shown["pin"] == (None, "[hidden]")
    assert shown["api.token"] == (None, "${file:/x:t}")
    assert shown["gone"] == (None, "1")


def test_what_a_worker_hides_counts_as_equal(served: Client, cluster: RemoteCluster) -> None:
    """Until it is sent on request; its restarts are counted."""
    served.create("c", extra="[hidden]")
    (kept,) = plan_of(cluster, file(extra="secret")).changes
    assert (kept.action, kept.notes) == ("keep", ("the worker hides extra, which may differ: --resend sends it",))
    (sent,) = plan_of(cluster, file(extra="secret"), resend=True).changes
    assert (sent.action, sent.restarts) == ("update", 1)


def test_owners_limit_what_is_changed_and_deleted(served: Client, cluster: RemoteCluster) -> None:
    """Only what the owner has is deleted, and at most half of it."""
    for name in ("a", "b", "foreign"):
        served.create(name)
    owners = {"a": "me", "b": "me", "foreign": "you"}
    plan = plan_of(cluster, file("a"), owner="me", owners=owners, prune="owned")
    assert actions(plan) == {"a": "keep", "b": "delete"}
    assert next(plan.changes[1].lines()) == "- delete b"
    with pytest.raises(ConfigError, match="would delete 2 of the 2"):
        plan_of(cluster, file("new"), owner="me", owners=owners, prune="owned")
    assert len(plan_of(cluster, file("new"), owner="me", owners=owners, prune="all").work) == 3
    with pytest.raises(ConfigError, match="foreign belongs to 'you', not to 'me'"):
        plan_of(cluster, file("foreign"), owner="me", owners=owners)
    assert plan_of(cluster, file("foreign"), owner="me", owners=owners, adopt=True).changes[0].owner == "me"
    with pytest.raises(ConfigError, match="--prune needs --owner"):
        plan_of(cluster, file("a"), prune="owned")
