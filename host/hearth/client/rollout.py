"""Carries out a plan, connector by connector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hearth.client.change_plan import CREATE, DELETE, ConnectorChange
from hearth.client.remote_cluster import RemoteCluster
from hearth_api import ConnectError

_DONE = {CREATE: "created", DELETE: "deleted"}


@dataclass(frozen=True)
class ChangeOutcome:
    """What became of a change: a verb in the past, or an error."""

    change: ConnectorChange
    done: str = ""
    error: ConnectError | None = None


def roll_out(cluster: RemoteCluster, changes: Sequence[ConnectorChange]) -> Iterator[ChangeOutcome]:
    """Yield the outcome of each change; a failure does not keep others from being tried. Deletions come last."""
    for change in sorted(changes, key=lambda each: each.action == DELETE):
        try:
            _carry_out(cluster, change)
        except ConnectError as error:
            yield ChangeOutcome(change, error=error)
        else:
            yield ChangeOutcome(change, _DONE.get(change.action, "updated"))


def _carry_out(cluster: RemoteCluster, change: ConnectorChange) -> None:
    if change.action == DELETE:
        cluster.delete(change.name)
        return
    assert change.file is not None, "only a deletion has no file"
    if change.action == CREATE:
        cluster.create(change.name, change.file.config, change.file.state or change.file.initial_state)
    elif change.sends_config:
        cluster.replace(change.name, change.file.config)
    if change.state is not None:
        cluster.set_state(change.name, change.state)
    if change.owner is not None:
        cluster.set_owner(change.name, change.owner)
