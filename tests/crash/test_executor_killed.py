"""SIGKILL of a cluster's executor JVM that runs a task."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.bench.cluster import SparkCluster
from tests.crash.pipeline import Pipeline, pass_time
from tests.crash.process import await_end, find, tree
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    """Provide a real Spark cluster: a master and two workers with one executor each."""
    with SparkCluster(tmp_path / "cluster", workers=2) as cluster:
        yield cluster


@pytest.fixture
def clustered(tmp_path: Path, topics: Topics, cluster: SparkCluster) -> Iterator[Pipeline]:
    """Provide a pipeline on the cluster."""
    with closing(Pipeline(tmp_path, topics, cluster.settings())) as pipeline:
        yield pipeline
    await_end([found for pid in cluster.executors() for found in tree(pid)])


@pytest.mark.slow
def test_a_killed_executor_of_a_cluster_is_replaced(
    cluster: SparkCluster, clustered: Pipeline, chance: random.Random
) -> None:
    """The tasks of a dead executor run on the other one, which is warm by then; the cluster starts another."""
    clustered.start()
    assert eventually(lambda: all(children for children in cluster.executors().values()), TIMEOUT), "not all are warm"
    with clustered.ledger.flowing():
        for kind in ("source", "sink"):
            pass_time(chance.uniform(0.5, 2.0))
            seconds = clustered.kill_and_flow(executor_of(clustered, kind))
            print(f"lines flow {seconds:.2f} s after the executor of the {kind} was killed")
    clustered.ledger.prove()
    print(clustered.ledger)


def executor_of(pipeline: Pipeline, kind: str) -> int:
    """Return the JVM above a task's Python worker."""
    process = pipeline.python_worker(kind)
    while "CoarseGrainedExecutorBackend" not in process.command:
        process = find(process.parent)
    return process.pid
