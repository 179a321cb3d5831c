"""A real cluster's executors follow the load; tasks drain before their executor leaves, and lose nothing."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.config.capacity_key import COUNT, IN, LEAST, MOST, OUT
from tests.bench.cluster import SparkCluster
from tests.bundles.build import plugin_path
from tests.crash.process import stages
from tests.integration.numbered_lines import NumberedLines
from tests.peer.distributed import HearthDistributed
from tests.peer.hearth_connect import file_bundle
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow
STRING = "org.apache.kafka.connect.storage.StringConverter"
BUSY = {
    "name": "busy",
    "connector.class": "org.example.greeting.GreetingSourceConnector",
    "topic": "busy",
    "tasks.max": "2",
    "count": "1000000000",
}
"""Two tasks that poll single records as fast as they can."""


def host(
    folder: Path, broker: KafkaBroker, cluster: SparkCluster, group: str, keys: dict[str, str]
) -> HearthDistributed:
    """Return a host on the cluster, whose executors have four slots."""
    settings = {
        **cluster.settings(),
        "spark.executor.cores": "4",
        "plugin.path": f"{file_bundle()},{plugin_path('greeting_source')}",
        "key.converter": STRING,
        "value.converter": STRING,
        "offset.flush.interval.ms": "200",
        **keys,
    }
    return HearthDistributed(folder, broker.bootstrap_servers, group, settings)


def shares(cluster: SparkCluster) -> list[int]:
    """Return how many tasks each executor runs: each has one stage."""
    return sorted(len(stages(pid)) for pid in cluster.executors())


@pytest.mark.long
def test_executors_follow_the_load_and_nothing_is_lost(tmp_path: Path, broker: KafkaBroker) -> None:
    """One executor, then two that share the tasks, then one with all of them: each task drains before it moves."""
    keys = {LEAST: "1", MOST: "2", OUT: "12", IN: "6"}
    with (
        SparkCluster(tmp_path / "cluster", workers=2) as cluster,
        host(tmp_path / "host", broker, cluster, "growing", keys) as worker,
        NumberedLines(tmp_path, "growing") as lines,
    ):
        for config in lines.configs():
            assert worker.rest.create(config).status == 201
        assert lines.flows(), worker.last_words()
        assert len(cluster.executors()) == 1
        lines.arrivals.forget_gaps()
        assert worker.rest.create(BUSY).status == 201
        assert eventually(lambda: len(cluster.executors()) == 2, TIMEOUT), worker.last_words()
        assert eventually(lambda: shares(cluster) == [2, 2], TIMEOUT), worker.last_words()
        assert worker.rest.call("PUT", "/connectors/busy/pause").status == 202
        assert eventually(lambda: len(cluster.executors()) == 1, 180), worker.last_words()
        assert shares(cluster) == [4], worker.last_words()
        assert worker.rest.states("busy") == ["PAUSED"] * 3
        assert lines.flows()
        assert "releasing executor" in worker.last_words()
        print(f"no line for {lines.arrivals.longest_gap:.1f} s at most, {lines.arrivals.repeats} came again")
        assert lines.is_complete(), worker.last_words()
        assert (lines.arrivals.faults, lines.arrivals.repeats) == ([], 0)
        assert "Traceback" not in worker.last_words()


@pytest.mark.long
def test_tasks_follow_added_and_removed_workers(tmp_path: Path, broker: KafkaBroker) -> None:
    """A requested executor arrives with a worker and leaves with it: tasks are rebalanced and lose nothing."""
    keys = {LEAST: "1", MOST: "2", OUT: "12", IN: "1"}
    with (
        SparkCluster(tmp_path / "cluster", workers=1, slots=4) as cluster,
        host(tmp_path / "host", broker, cluster, "coming", keys) as worker,
        NumberedLines(tmp_path, "coming") as lines,
    ):
        for config in [*lines.configs(), BUSY]:
            worker.run(config)
        assert lines.flows(), worker.last_words()
        assert eventually(lambda: "requesting 2 executors instead of 1" in worker.last_words(), TIMEOUT)
        assert eventually(lambda: "the cluster provides" in worker.last_words(), 90), worker.last_words()
        assert shares(cluster) == [4]
        cluster.add_worker()
        assert eventually(lambda: shares(cluster) == [2, 2], TIMEOUT), worker.last_words()
        assert lines.flows()
        assert lines.arrivals.repeats == 0
        os.kill(cluster.pids[-1], signal.SIGKILL)
        assert eventually(lambda: shares(cluster) == [4], TIMEOUT), worker.last_words()
        assert lines.flows(), worker.last_words()
        cluster.add_worker()
        assert eventually(lambda: shares(cluster) == [2, 2], 90), worker.last_words()
        print(f"no line for {lines.arrivals.longest_gap:.1f} s at most, {lines.arrivals.repeats} came again")
        assert lines.is_complete(), worker.last_words()
        assert lines.arrivals.faults == []
        assert "Traceback" not in worker.last_words()


def test_a_fixed_count_of_executors_shares_the_tasks(tmp_path: Path, broker: KafkaBroker) -> None:
    """The cluster has room for more; tasks of the first executor move to the other."""
    with (
        SparkCluster(tmp_path / "cluster", workers=2) as cluster,
        host(tmp_path / "host", broker, cluster, "fixed", {COUNT: "2", "spark.executor.cores": "2"}) as worker,
    ):
        worker.run({**BUSY, "count": "1", "tasks.max": "2"})
        assert eventually(lambda: shares(cluster) == [1, 1], TIMEOUT), worker.last_words()
        assert len(cluster.executors()) == 2
