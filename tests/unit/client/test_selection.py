"""Names, patterns and states select connectors; nothing selects none."""

from __future__ import annotations

import pytest

from hearth.client.remote_cluster import RemoteConnector, RemoteTask
from hearth.client.selection import Selection
from hearth_api import ConfigError, NotFoundError

STATES = {"orders": ("RUNNING", "RUNNING"), "orders-2": ("RUNNING", "FAILED"), "x": ("PAUSED", "PAUSED")}
FOUND = {
    name: RemoteConnector(name, "sink", state, "w", {}, (RemoteTask(0, task, "w"),))
    for name, (state, task) in STATES.items()
}


def chosen(selection: Selection) -> list[str]:
    """Return the names of what is selected."""
    return [each.name for each in selection.of_named(FOUND)]


def test_each_way_to_select() -> None:
    """They narrow each other down; a pattern has to match the whole name."""
    assert chosen(Selection(("x", "orders"))) == ["orders", "x"]
    assert chosen(Selection(is_all=True)) == list(FOUND)
    assert chosen(Selection(pattern="orders")) == ["orders"]
    assert chosen(Selection(pattern="orders.*", state="failed")) == ["orders-2"]
    assert chosen(Selection(state="stopped")) == []


def test_nothing_selects_nothing() -> None:
    """Where an action needs connectors; a list shows all."""
    with pytest.raises(ConfigError, match="no connector is named"):
        Selection().of_named(FOUND)
    assert len(Selection().of(FOUND)) == 3


def test_wrong_names_and_patterns_are_refused() -> None:
    """With the nearest name, and what is wrong with the pattern."""
    with pytest.raises(NotFoundError, match="no connector 'order', did you mean 'orders'"):
        chosen(Selection(("order",)))
    with pytest.raises(ConfigError, match="not a regular expression"):
        chosen(Selection(pattern="*"))
