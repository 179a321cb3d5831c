"""The values in the stores; the guarantees of the stores are tested in ``tests/contract/test_stores.py``."""

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
def test_a_restart_request_selects_connector_and_tasks(
    only_failed: bool, include_tasks: bool, state: State, connector: bool, task: bool
) -> None:
    """KIP-745: onlyFailed restricts, includeTasks extends."""
    request = RestartRequest("c", only_failed, include_tasks)
    assert (request.wants_connector(state), request.wants_task(state)) == (connector, task)


def test_states_are_formatted_as_in_kafka_connect() -> None:
    """REST, logs and topic records have the plain value."""
    assert f"{State.RUNNING} {TargetState.STOPPED}" == "RUNNING STOPPED"
    assert {str(state) for state in State} >= {"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED"}
    assert {str(state) for state in TargetState} == {"STARTED", "PAUSED", "STOPPED"}
