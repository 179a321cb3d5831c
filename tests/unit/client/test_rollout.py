"""A plan is carried out change by change, and a failure does not keep the others from it."""

from __future__ import annotations

from hearth.client.change_plan import PlanOptions, make_plan
from hearth.client.remote_cluster import RemoteCluster
from hearth.client.rollout import roll_out
from tests.unit.client.test_change_plan import file
from tests.unit.rest.client import Client


def test_all_kinds_of_changes(served: Client, cluster: RemoteCluster) -> None:
    """Deletions come last; the owner is recorded."""
    for name in ("updated", "deleted", "kept"):
        served.create(name)
        cluster.set_owner(name, "me")
    files = [file("new", state="PAUSED"), file("updated", topic="other", state="PAUSED"), file("kept")]
    options = PlanOptions(owner="me", owners=cluster.owners(), prune="owned")
    plan = make_plan(cluster, files, options)
    outcomes = [(each.change.name, each.done, each.error) for each in roll_out(cluster, plan.work)]
    assert outcomes == [("new", "created", None), ("updated", "updated", None), ("deleted", "deleted", None)]
    assert cluster.names() == ["kept", "new", "updated"]
    assert cluster.config("updated")["topic"] == "other"
    assert cluster.owners() == {"kept": "me", "new": "me", "updated": "me"}
    assert make_plan(cluster, files, PlanOptions(owner="me", owners=cluster.owners())).work == []


def test_a_failure_is_an_outcome(served: Client, cluster: RemoteCluster) -> None:
    """The next change is tried."""
    plan = make_plan(cluster, [file("a"), file("b")], PlanOptions())
    served.create("a")
    first, second = roll_out(cluster, plan.work)
    assert (str(first.error), second.done) == ("Connector a already exists", "created")
