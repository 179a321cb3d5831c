"""The cluster state for REST extensions."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.herder.cluster_state import HerderClusterState
from hearth.storage import State
from hearth_api import NotFoundError
from hearth_api.worker import ConnectorHealth, ConnectorType, StateInfo
from tests.unit.herder.fake import Bench

ID = "127.0.0.1:8083"


def test_cluster_state_shows_names_states_and_configurations(tmp_path: Path) -> None:
    """States include the traces of failures, and configurations are shown as stored."""
    bench = Bench(tmp_path)
    state = HerderClusterState(bench.herder, "cluster")
    config = {"name": "c", "connector.class": "FileStreamSource", "topic": "t"}
    bench.herder.put("c", config).result(30)
    bench.await_task("c", State.RUNNING)
    worker = bench.herder.view.connector("c")["connector"]["worker_id"]
    running = StateInfo("RUNNING", worker)
    assert state.connectors() == ["c"]
    assert state.connector_health("c") == ConnectorHealth("c", running, {0: running}, ConnectorType.SOURCE)
    assert state.connector_config("c") == config
    assert state.kafka_cluster_id() == "cluster"
    for ask in (state.connector_health, state.connector_config):
        with pytest.raises(NotFoundError):
            ask("nobody")
    bench.herder.shut_down()
