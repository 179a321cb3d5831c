"""Which events the states of a connector make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

import pytest

from hearth.herder.lineage.connector_runs import ConnectorRuns, LineageFacts
from hearth.herder.lineage.dataset import DatasetName
from hearth.storage import State

LAUNCHED = LineageFacts(1, (State.RUNNING, State.UNASSIGNED))
RUNNING = replace(LAUNCHED, states=(State.RUNNING, State.RUNNING))
FAILED = replace(LAUNCHED, states=(State.RUNNING, State.FAILED), error="it broke")


class Log:
    """The runs under test, and the events so far as kind and number of the run."""

    def __init__(self) -> None:
        self.runs = ConnectorRuns(count(1).__next__)

    def __call__(self, *facts: LineageFacts | None) -> list[str]:
        return [f"{each.kind.value} {each.run_id}" for one in facts for each in self.runs.changed("c", one)]


@pytest.fixture
def log() -> Iterator[Log]:
    """Provide runs; at the end at most one is open."""
    made = Log()
    yield made
    assert len(list(made.runs.close())) <= 1


def test_a_run_starts_with_its_tasks_and_is_running_once(log: Log) -> None:
    """What does not change says nothing; a topic that is used for the first time does."""
    assert log(replace(LAUNCHED, states=(State.RUNNING,))) == []
    assert log(LAUNCHED, LAUNCHED, RUNNING, RUNNING) == ["START 1", "RUNNING 1"]
    assert log(replace(RUNNING, outputs=(DatasetName("kafka://b", "t"),))) == ["RUNNING 1"]


def test_a_revision_is_a_run(log: Log) -> None:
    """The run of the earlier one completes; so it does when the connector is stopped or deleted."""
    log(RUNNING)
    assert log(replace(RUNNING, revision=2)) == ["COMPLETE 1", "START 2", "RUNNING 2"]
    assert log(replace(RUNNING, revision=2, is_stopped=True)) == ["COMPLETE 2"]
    assert log(replace(RUNNING, revision=2), None) == ["START 3", "RUNNING 3", "COMPLETE 3"]
    assert log(None) == []


def test_a_failure_ends_a_run_and_a_restart_begins_another(log: Log) -> None:
    """It fails once, however many tasks fail."""
    assert log(RUNNING, FAILED, FAILED) == ["START 1", "RUNNING 1", "FAIL 1"]
    assert log(replace(FAILED, states=(State.RUNNING, State.RESTARTING)), RUNNING) == ["START 2", "RUNNING 2"]


def test_a_pause_is_no_end(log: Log) -> None:
    """The run goes on, and has said that it is running."""
    log(RUNNING)
    assert log(replace(RUNNING, states=(State.PAUSED, State.PAUSED)), RUNNING) == []
