"""What REST extensions learn of the connectors of a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.herder.cluster_state import HerderClusterState
from hearth.storage import State
from hearth_api import NotFoundError
from hearth_api.worker import ConnectorHealth, ConnectorType, StateInfo
from tests.unit.herder.fake import Bench

ID = "127.0.0.1:8083"


def test_connectors_are_shown_as_they_are(tmp_path: Path) -> None:
    """A snapshot: names, states with the traces of what failed, the configuration as it is stored."""
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
