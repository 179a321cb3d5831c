"""A host on a real Spark cluster: how tasks find it, and what it says when something is wrong with the cluster."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.bench.cluster import SparkCluster
from tests.peer.hearth_connect import HearthConnect
from tests.peer.rest import eventually
from tests.peer.worker import Worker

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """Provide a master and one worker."""
    with SparkCluster(tmp_path_factory.mktemp("spark") / "cluster", workers=1) as cluster:
        yield cluster


def source(folder: Path, name: str) -> dict[str, str]:
    """Return a connector of one task."""
    return {"name": name, "connector.class": "FileStreamSource", "file": str(folder / f"{name}.txt"), "topic": name}


def is_said(host: Worker, *texts: str, seconds: float = 30.0) -> bool:
    """Wait until one line of a host's log has all of the texts."""
    return eventually(
        lambda: any(all(text in line for text in texts) for line in host.last_words().splitlines()), seconds
    )


def test_tasks_of_a_cluster_find_their_host_and_wait_for_slots_aloud(
    tmp_path: Path, broker: KafkaBroker, cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No key says where the host is; the cluster has one core for two tasks, and nothing is encrypted."""
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.2")  # an address of this machine that nobody would guess
    settings = {**cluster.settings(), "spark.cores.max": "1", "spark.executor.cores": "1"}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        host.run(source(tmp_path, "first"))
        assert is_said(host, f"tasks travel to {cluster.url} in clear", "spark.authenticate=true")
        assert host.rest.create(source(tmp_path, "second")).status == 201
        assert is_said(host, "no slot for second-0", cluster.url, "spark.cores.max"), host.last_words()
        assert host.rest.states("second")[1:] == ["UNASSIGNED"]
        host.delete("first")
        host.wait_for_state("second", "RUNNING")


def test_master_that_nobody_runs_is_told_within_seconds(tmp_path: Path, broker: KafkaBroker) -> None:
    """Spark itself gives up after a minute."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{nobody.getsockname()[1]}"
        with HearthConnect(tmp_path, broker.bootstrap_servers, {"spark.master": url}) as host:
            assert is_said(host, f"nobody answers at spark.master={url}", "Connection refused"), host.last_words()


def test_python_that_executors_do_not_have_is_named_with_its_key(tmp_path: Path, broker: KafkaBroker) -> None:
    """It is obeyed, and what comes of it can be read in the task's status before it counts as failed."""
    settings = {"spark.pyspark.python": "/no/such/python"}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        assert host.rest.create(source(tmp_path, "any")).status == 201

        def trace() -> str:
            tasks = host.rest.status("any")["tasks"]
            return str(tasks[0].get("trace", "")) if tasks else ""

        assert eventually(lambda: "spark.pyspark.python" in trace(), 60), host.last_words()
        assert "executors run /no/such/python" in trace()
