"""Hosts of one cluster, each in its own process: any responds, one leads, and another takes over when it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.process import await_end, tree
from tests.integration.numbered_lines import NumberedLines
from tests.peer.distributed import HearthDistributed
from tests.peer.rest import Answer
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow
STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "200"}
MOST_SECONDS = 8.0
"""How long lines may stop while hosts restart one after the other."""


class Cluster:
    """Hosts of one group, each with its own folder."""

    def __init__(self, folder: Path, broker: KafkaBroker, group: str, size: int) -> None:
        self.hosts = [
            HearthDistributed(folder / str(number), broker.bootstrap_servers, group, SETTINGS)
            for number in range(size)
        ]

    def __enter__(self) -> Cluster:
        """Start the first host, which leads, then the others."""
        try:
            for host in self.hosts:
                host.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def leads(self, host: HearthDistributed, name: str) -> bool:
        """Return whether a host reports that a connector and all its tasks have that host's worker id."""
        status = host.rest.status(name)
        if "connector" not in status:
            return False
        found = [status["connector"], *status["tasks"]]
        return {(each["state"], each["worker_id"]) for each in found} == {("RUNNING", f"127.0.0.1:{host.port}")}

    def stop(self) -> None:
        """Stop the running hosts."""
        for host in self.hosts:
            host.stop()


class Reader:
    """Sends requests to a host continuously, and counts those without a response."""

    def __init__(self, host: HearthDistributed, path: str) -> None:
        self._host, self._path = host, path
        self.count = 0
        self.faults: list[object] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        while not self._stop.wait(0.1):
            self.count += 1
            try:
                answer = self._host.rest.call("GET", self._path)
            except OSError as error:
                self.faults.append(error)
            else:
                if answer.status != 200:
                    self.faults.append(answer)

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def test_a_killed_leader_is_replaced_and_nothing_is_lost(tmp_path: Path, broker: KafkaBroker) -> None:
    """A follower creates connectors before and after, and responds as the leader does."""
    with Cluster(tmp_path, broker, "killed-leader", 2) as cluster, NumberedLines(tmp_path, "numbers") as lines:
        first, second = cluster.hosts
        for config in lines.configs():
            created = second.rest.create(config)
            assert created.status == 201, created.text + second.last_words()
            assert created.headers["location"].startswith(f"http://127.0.0.1:{second.port}/connectors/")
            assert second.rest.call("GET", f"/connectors/{config['name']}/config").json == config
        assert lines.flows(), first.last_words() + second.last_words()
        assert cluster.leads(first, "numbers-source")
        assert first.rest.call("POST", "/connectors/numbers-sink/tasks/0/restart").status == 204
        assert eventually(lambda: _runs(first)[1] == 1, TIMEOUT), _runs(first)
        runs = _runs(first)
        assert eventually(lambda: cluster.leads(first, "numbers-sink"), TIMEOUT)
        assert second.rest.status("numbers-sink") == first.rest.status("numbers-sink")
        level = "/admin/loggers/hearth.of.the.cluster"
        assert second.rest.call("PUT", f"{level}?scope=cluster", {"level": "ERROR"}).status == 204
        assert eventually(lambda: (first.rest.call("GET", level).json or {}).get("level") == "ERROR", TIMEOUT)
        everyone = tree(first.pid)
        lines.arrivals.forget_gaps()
        with Reader(second, "/connectors?expand=status") as reader:
            first.kill()
            killed = time.monotonic()
            refusals = _until_done(second, "PUT", "/connectors/numbers-source/resume")
            accepted = time.monotonic() - killed
            assert lines.flows(), second.last_words()
        assert (reader.faults, reader.count > 5) == ([], True)
        assert {each.status for each in refusals} <= {409}, refusals
        print(f"writes after {accepted:.1f} s, lines after {lines.arrivals.longest_gap:.1f} s")
        assert "has died and is removed from group" in second.last_words(), "its session was waited for"
        await_end(everyone)
        assert cluster.leads(second, "numbers-source")
        assert _runs(second) == runs, "revision and restarts survive a change of the leader"
        assert lines.is_complete(), second.last_words()
        assert lines.arrivals.faults == []
        assert "Traceback" not in second.last_words()


def _runs(host: HearthDistributed) -> tuple[int, int]:
    """Return the revision of the sink's configuration, and the restarts of its task."""
    report = host.rest.call("GET", "/hearth/connectors/numbers-sink").json
    return report["revision"], report["tasks"][0].get("restarts", -1)


def _until_done(host: HearthDistributed, method: str, path: str) -> list[Answer]:
    """Repeat a request until it is accepted; return the earlier responses."""
    refusals: list[Answer] = []

    def is_accepted() -> bool:
        answer = host.rest.call(method, path)
        if answer.status >= 300:
            refusals.append(answer)
        return answer.status < 300

    assert eventually(is_accepted, TIMEOUT, every=0.1), refusals
    return refusals


@pytest.mark.long
@pytest.mark.parametrize("whole", [False, True], ids=["the host", "all its processes"])
def test_a_leader_suspended_for_a_minute_is_fenced(tmp_path: Path, broker: KafkaBroker, whole: bool) -> None:
    """Another host leads meanwhile. Late writes of the first host and its tasks have no effect."""
    group = f"stopped-leader-{whole}"
    with Cluster(tmp_path, broker, group, 2) as cluster, NumberedLines(tmp_path, group) as lines:
        first, second = cluster.hosts
        for config in lines.configs():
            assert first.rest.create(config).status == 201
        assert lines.flows(), first.last_words()
        before = [each for each in tree(first.pid) if each.pid != first.pid]
        stopped = [first.pid, *(each.pid for each in before if whole)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            assert eventually(lambda: cluster.leads(second, f"{group}-sink"), TIMEOUT), second.last_words()
            time.sleep(60)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        assert eventually(lambda: any("no longer leads" in line for line in first.last_words().splitlines()), TIMEOUT)
        time.sleep(5)
        for name in (f"{group}-source", f"{group}-sink"):
            assert cluster.leads(second, name), first.last_words()
            assert first.rest.status(name) == second.rest.status(name)
        assert second.rest.call("PUT", f"/connectors/{group}-sink/pause").status == 202
        assert eventually(lambda: first.rest.states(f"{group}-sink") == ["PAUSED", "PAUSED"], TIMEOUT)
        assert first.rest.call("PUT", f"/connectors/{group}-sink/resume").status == 202
        assert lines.flows(), second.last_words()
        print(f"lines after {lines.arrivals.longest_gap:.1f} s, {lines.arrivals.repeats} came again")
        assert lines.is_complete(), second.last_words()
        assert lines.arrivals.faults == [], first.last_words()
        assert "Traceback" not in second.last_words()


@pytest.mark.long
def test_a_rolling_restart_keeps_lines_flowing(tmp_path: Path, broker: KafkaBroker) -> None:
    """Three hosts, including the leader: lines flow on, except during a handover."""
    with Cluster(tmp_path, broker, "rolling", 3) as cluster, NumberedLines(tmp_path, "rolling") as lines:
        for config in lines.configs():
            assert cluster.hosts[1].rest.create(config).status == 201
        assert lines.flows(), cluster.hosts[0].last_words()
        lines.arrivals.forget_gaps()
        for _ in range(2):
            for host in cluster.hosts:
                host.stop()
                host.start()
                assert lines.flows(), host.last_words()
        print(f"lines after {lines.arrivals.longest_gap:.1f} s at most, {lines.arrivals.repeats} came again")
        assert lines.arrivals.longest_gap < MOST_SECONDS
        assert lines.is_complete()
        assert (lines.arrivals.faults, lines.arrivals.repeats) == ([], 0)


@pytest.mark.long
def test_a_cluster_survives_a_minute_without_a_broker(tmp_path: Path, own_broker: KafkaBroker) -> None:
    """No host can lead meanwhile; every host keeps serving its known state, and then the whole cluster recovers."""
    with Cluster(tmp_path, own_broker, "brokerless", 2) as cluster, NumberedLines(tmp_path, "brokerless") as lines:
        first, second = cluster.hosts
        for config in lines.configs():
            assert first.rest.create(config).status == 201
        assert lines.flows(), first.last_words()
        own_broker.stop()
        with Reader(second, "/connectors") as reader:
            time.sleep(60)
            health = second.rest.call("GET", "/health")
        own_broker.start()
        back = time.monotonic()
        assert (health.status, "currently ensuring membership in the cluster" in health.text) == (500, True)
        assert lines.flows(120), first.last_words() + second.last_words()
        print(f"lines {time.monotonic() - back:.1f} s after the broker was back, {lines.arrivals.repeats} came again")
        assert (reader.faults, reader.count > 20) == ([], True)
        assert lines.is_complete()
        assert lines.arrivals.faults == []
        assert "Traceback" not in first.last_words() + second.last_words()
