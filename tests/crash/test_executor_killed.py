"""SIGKILL of what Spark runs a task in: its Python worker, the JVM of its executor, the JVM of a local host."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.bench.cluster import SparkCluster
from tests.crash.pipeline import Pipeline, pass_time
from tests.crash.process import await_end, find, tree
from tests.peer.rest import eventually
from tests.peer.topic import Topics
from tests.profile import crashes


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


def kill_and_flow(pipeline: Pipeline, pid: int) -> float:
    """SIGKILL a process, and return after how many seconds a new line has arrived; no part of it may stay."""
    below = tree(pid)
    os.kill(pid, signal.SIGKILL)
    seconds = pipeline.await_new_line()
    await_end(below)
    return seconds


@pytest.mark.slow
def test_a_killed_python_worker_of_a_local_host_is_replaced(pipeline: Pipeline, chance: random.Random) -> None:
    """The process that carries a task dies with its stage; the task runs again without anybody's doing."""
    pipeline.start()
    with pipeline.ledger.flowing():
        for _ in range(crashes()):
            for kind in ("source", "sink"):
                pass_time(chance.uniform(0.3, 1.5))
                seconds = kill_and_flow(pipeline, pipeline.python_worker(kind).pid)
                print(f"lines flow {seconds:.2f} s after the python worker of the {kind} was killed")
    pipeline.ledger.prove()
    print(pipeline.ledger)


@pytest.mark.slow
def test_a_killed_executor_of_a_cluster_is_replaced(
    cluster: SparkCluster, clustered: Pipeline, chance: random.Random
) -> None:
    """The tasks of a dead executor run on the other one, warm by then, and the cluster starts another executor."""
    clustered.start()
    assert eventually(lambda: all(children for children in cluster.executors().values()), 20), "not all are warm"
    with clustered.ledger.flowing():
        for kind in ("source", "sink"):
            pass_time(chance.uniform(0.5, 2.0))
            seconds = kill_and_flow(clustered, executor_of(clustered, kind))
            print(f"lines flow {seconds:.2f} s after the executor of the {kind} was killed")
    clustered.ledger.prove()
    print(clustered.ledger)


def executor_of(pipeline: Pipeline, kind: str) -> int:
    """Return the JVM above a task's Python worker."""
    process = pipeline.python_worker(kind)
    while "CoarseGrainedExecutorBackend" not in process.command:
        process = find(process.parent)
    return process.pid


@pytest.mark.slow
def test_a_killed_jvm_of_a_local_host_is_replaced(pipeline: Pipeline) -> None:
    """With Spark inside the host its JVM is the executor; another one is started, and the tasks run in it."""
    pipeline.start()
    with pipeline.ledger.flowing():
        pass_time(1.0)
        seconds = kill_and_flow(pipeline, jvm_of(pipeline))
        print(f"lines flow {seconds:.2f} s after Spark's JVM was killed")
    pipeline.ledger.prove()
    print(pipeline.ledger)


def jvm_of(pipeline: Pipeline) -> int:
    """Return the JVM that the host started."""
    return next(each.pid for each in tree(pipeline.host.pid) if "org.apache.spark.deploy.SparkSubmit" in each.command)
