"""Hosts on a real Spark cluster that loses its parts, or its leading host."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.bench.cluster import SparkCluster
from tests.crash.kept_host import KeptHost
from tests.crash.process import await_end, tree
from tests.integration.numbered_lines import NumberedLines
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

pytestmark = [pytest.mark.slow, pytest.mark.long]
STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "200"}
GROUP = "spark-lost"
KEEPS = {"spark.deploy.recoveryMode": "FILESYSTEM"}


class Parts:
    """Hosts of which the first leads, their Spark cluster, and lines that flow."""

    def __init__(self, hosts: list[KeptHost], spark: SparkCluster, lines: NumberedLines) -> None:
        self.hosts, self.spark, self.lines = hosts, spark, lines

    def pause_after(self, act: Callable[[], None]) -> float:
        """Execute an act, and return for how long no new line arrived until lines flow again."""
        arrivals = self.lines.arrivals
        arrivals.forget_gaps()
        act()
        assert self.lines.flows(120), self.description()
        assert eventually(self._is_calm, TIMEOUT), self.description()
        return arrivals.longest_gap

    def _is_calm(self) -> bool:
        """Return whether as many executors as before exist and are warm."""
        executors = self.spark.executors()
        return len(executors) == self.spark.size and all(executors.values())

    def end_master(self) -> None:
        """Kill Spark's master and start another in its place."""
        self._end(self.spark.pids[0])

    def end_worker(self) -> None:
        """Kill the Spark worker whose executor runs tasks, with that executor, and start another worker."""
        busiest = self.spark.busiest_executor()
        worker = next(pid for pid in self.spark.pids if busiest in {each.pid for each in tree(pid)})
        self._end(worker)

    def _end(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self.spark.replace(pid)

    def description(self) -> str:
        """Return the hosts' last output."""
        return "\n\n".join(each.last_words() for each in self.hosts)


@contextmanager
def running(folder: Path, broker: KafkaBroker, size: int, properties: dict[str, str]) -> Iterator[Parts]:
    """Start hosts and let lines flow."""
    with ExitStack() as stack:
        spark = stack.enter_context(SparkCluster(folder / "spark", 2, properties=properties))
        settings = {**SETTINGS, **spark.settings()}
        hosts = [KeptHost(folder / str(number), broker.bootstrap_servers, GROUP, settings) for number in range(size)]
        for host in hosts:
            stack.callback(host.stop)
            host.start()
        lines = stack.enter_context(NumberedLines(folder, GROUP))
        parts = Parts(hosts, spark, lines)
        for config in lines.configs():
            assert hosts[-1].rest.create(config).status == 201
        assert lines.flows(), parts.description()
        assert eventually(parts._is_calm, TIMEOUT), parts.description()
        assert eventually(lambda: spark.registered() >= size, TIMEOUT), parts.description()
        yield parts


@pytest.mark.parametrize("keeps", [False, True], ids=["which forgets", "which remembers"])
def test_lines_flow_after_masters_and_workers_are_replaced(
    tmp_path: Path, own_broker: KafkaBroker, keeps: bool
) -> None:
    """Lines flow without a master; a new one without recovery ends its applications, and the host restarts Spark."""
    kept = {**KEEPS, "spark.deploy.recoveryDirectory": str(tmp_path / "kept")} if keeps else {}
    with running(tmp_path, own_broker, 1, kept) as parts:
        seconds = parts.pause_after(parts.end_master)
        print(f"lines stood still for {seconds:.1f} s after the master was lost")
        time.sleep(20)
        assert parts.lines.flows(60), parts.description()
        print(f"and for {parts.lines.arrivals.longest_gap:.1f} s later")
        seconds = parts.pause_after(parts.end_worker)
        print(f"lines stood still for {seconds:.1f} s after a worker was lost")
        assert parts.lines.is_complete(), parts.description()
        assert parts.lines.arrivals.faults == []


def test_a_lost_leader_is_replaced_on_the_same_cluster(tmp_path: Path, own_broker: KafkaBroker) -> None:
    """After a kill or a suspension the successor does not wait for the executors of its predecessor."""
    with running(tmp_path, own_broker, 3, {}) as parts:
        first, second, third = parts.hosts
        print(f"lines stood still for {parts.pause_after(first.kill):.1f} s after the leading host was killed")
        leader = next(each for each in (second, third) if leads(each))
        os.kill(leader.pid, signal.SIGSTOP)
        try:
            seconds = parts.pause_after(lambda: time.sleep(1))
            print(f"lines stood still for {seconds:.1f} s after the leading host was stopped")
        finally:
            os.kill(leader.pid, signal.SIGCONT)
        assert eventually(lambda: "no longer leads" in leader.last_words(), TIMEOUT), leader.last_words()
        assert parts.lines.flows(), parts.description()
        rest = {each.pid: each for each in tree(leader.pid)}
        leader.stop()
        await_end(list(rest.values()))
        assert parts.lines.is_complete(), parts.description()
        assert parts.lines.arrivals.faults == []


def test_a_rolling_restart_on_a_spark_cluster_keeps_lines_flowing(tmp_path: Path) -> None:
    """Each restarts once lines flow; the broker delays rebalances of an empty group, as by default."""
    settings = {"group.initial.rebalance.delay.ms": "3000"}
    with (
        KafkaBroker(tmp_path / "broker", reserve_port(), retention_bytes=256 << 20, settings=settings) as broker,
        running(tmp_path, broker, 3, {}) as parts,
    ):
        parts.lines.arrivals.forget_gaps()
        for host in parts.hosts * 3:
            host.stop()
            host.start()
            assert parts.lines.flows(120), parts.description()
        print(f"no line for {parts.lines.arrivals.longest_gap:.1f} s at most")
        assert parts.lines.is_complete(), parts.description()
        assert (parts.lines.arrivals.faults, parts.lines.arrivals.repeats) == ([], 0)


def leads(host: KeptHost) -> bool:
    """Return whether tasks have a host's worker id."""
    status = host.rest.status(f"{GROUP}-source")
    return bool(status["connector"]["worker_id"] == f"127.0.0.1:{host.port}")
