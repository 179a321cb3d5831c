"""Fencing the producers of earlier tasks: Kafka Connect's rules, with a fake broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hearth.herder.fencing import fence_earlier_tasks
from hearth.kafka import fence
from hearth.storage import MemoryConfigStore
from hearth_api import ConnectError

CONFIG = {"name": "c"}


@pytest.fixture
def fenced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the fenced ids."""
    noted: list[str] = []
    monkeypatch.setattr(fence, "fence_producers", lambda _settings, ids: noted.extend(ids))
    return noted


def planner(*, is_exact: bool = True) -> Any:
    """Return a planner for a cluster with or without exactly once."""
    return SimpleNamespace(fencing=lambda config: ({}, f"g-{config['name']}") if is_exact else None)


def begin(configs: MemoryConfigStore, tasks: int) -> None:
    """Start new tasks."""
    if configs.snapshot().find("c") is None:
        configs.put_connector("c", CONFIG)
    configs.put_tasks("c", [{} for _ in range(tasks)])
    fence_earlier_tasks(configs, planner(), CONFIG, tasks)


def test_the_producers_of_earlier_tasks_are_fenced_once(fenced: list[str]) -> None:
    """All earlier ones, however few there are now; the very first tasks have none."""
    configs = MemoryConfigStore()
    begin(configs, 3)
    assert (fenced, configs.snapshot().task_counts) == ([], {"c": 3})
    begin(configs, 1)
    assert (fenced, configs.snapshot().task_counts) == (["g-c-0", "g-c-1", "g-c-2"], {"c": 1})
    fence_earlier_tasks(configs, planner(), CONFIG, 1)
    assert len(fenced) == 3


def test_a_single_task_fences_its_predecessor_itself(fenced: list[str]) -> None:
    """It has the same id; the new count is written all the same."""
    configs = MemoryConfigStore()
    begin(configs, 1)
    begin(configs, 1)
    assert fenced == []
    begin(configs, 2)
    assert (fenced, configs.snapshot().task_counts) == (["g-c-0"], {"c": 2})


def test_producers_of_a_deleted_connector_are_fenced(fenced: list[str]) -> None:
    """Its task count outlives it."""
    configs = MemoryConfigStore()
    begin(configs, 2)
    configs.remove_connector("c")
    begin(configs, 1)
    assert fenced == ["g-c-0", "g-c-1"]


def test_nothing_is_fenced_without_transactions(fenced: list[str]) -> None:
    """And nothing is written."""
    configs = MemoryConfigStore()
    configs.put_connector("c", CONFIG)
    configs.put_tasks("c", [{}])
    fence_earlier_tasks(configs, planner(is_exact=False), CONFIG, 1)
    assert configs.snapshot().task_counts == {}


def test_a_failed_fencing_is_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the next start of the tasks."""

    def fail(_settings: Any, _ids: Any) -> None:
        raise ConnectError("no broker")

    configs = MemoryConfigStore()
    begin(configs, 2)
    monkeypatch.setattr(fence, "fence_producers", fail)
    with pytest.raises(ConnectError, match="no broker"):
        begin(configs, 3)
    state = configs.snapshot()
    assert (dict(state.task_counts), state.pending_fencing) == ({"c": 2}, frozenset({"c"}))
