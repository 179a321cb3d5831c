"""Executors on another machine (a network namespace): tasks connect to their host, and lose it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.link.heartbeat import SILENCE_SECONDS
from tests.bench.cluster import SparkCluster
from tests.crash.machine import THERE, Machine, other_machine
from tests.crash.process import await_end, holder
from tests.peer.hearth_connect import HearthConnect


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Provide a machine."""
    with other_machine() as made:
        yield made


@pytest.mark.slow
def test_tasks_on_another_machine_connect_and_end_with_the_network(
    tmp_path: Path, broker: KafkaBroker, machine: Machine
) -> None:
    """No key sets the host's address. A task ends when the network is down, and restarts when it is back."""
    file = tmp_path / "in.txt"
    file.touch()
    source = {"name": "source", "connector.class": "FileStreamSource", "file": str(file), "topic": "far"}
    with (
        SparkCluster(tmp_path / "cluster", 1, THERE, machine.through) as cluster,
        HearthConnect(tmp_path, broker.bootstrap_servers, cluster.settings()) as host,
    ):
        host.run(source)
        stage = holder(file)
        machine.carry(False)
        await_end([stage], SILENCE_SECONDS + 30)
        host.wait_for_state("source", "UNASSIGNED", SILENCE_SECONDS + 30)
        machine.carry(True)
        host.wait_for_state("source", "RUNNING", 120)
        assert holder(file) != stage
