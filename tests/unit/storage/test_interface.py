"""What the values in the stores say; the stores' own promises are in ``tests/contract/test_stores.py``."""

from __future__ import annotations

import pytest

from hearth.storage import RestartRequest, State, TargetState


@pytest.mark.parametrize(
    ("only_failed", "include_tasks", "state", "connector", "task"),
    [
        (False, False, State.RUNNING, True, False),
        (False, True, State.RUNNING, True, True),
        (True, False, State.RUNNING, False, False),
        (True, True, State.RUNNING, False, False),
        (True, True, State.FAILED, True, True),
        (True, False, State.FAILED, True, False),
    ],
)
def test_a_restart_takes_what_it_asks_for(
    only_failed: bool, include_tasks: bool, state: State, connector: bool, task: bool
) -> None:
    """KIP-745: onlyFailed narrows down, includeTasks widens."""
    request = RestartRequest("c", only_failed, include_tasks)
    assert (request.wants_connector(state), request.wants_task(state)) == (connector, task)


def test_states_are_shown_as_kafka_connect_shows_them() -> None:
    """REST, logs and records of topics have the bare text."""
    assert f"{State.RUNNING} {TargetState.STOPPED}" == "RUNNING STOPPED"
    assert {str(state) for state in State} >= {"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"}
    assert {str(state) for state in TargetState} == {"STARTED", "PAUSED", "STOPPED"}
