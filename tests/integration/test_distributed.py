"""Hosts of one cluster, each a process of its own: any answers, one leads, and when it goes another goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.process import await_end, tree
from tests.integration.numbered_lines import NumberedLines
from tests.peer.distributed import HearthDistributed
from tests.peer.rest import Answer, eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]
STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "200"}
MOST_SECONDS = 8.0
"""How long lines may stand still when the leading host is killed."""


class Cluster:
    """Hosts of one group, each with a folder of its own."""

    def __init__(self, folder: Path, broker: KafkaBroker, group: str) -> None:
        self.hosts = [
            HearthDistributed(folder / str(number), broker.bootstrap_servers, group, SETTINGS) for number in range(2)
        ]

    def leader(self, name: str) -> HearthDistributed | None:
        """Return the host in whose name a connector runs."""
        for host in self.hosts:
            if host.is_running and (status := host.rest.status(name)) and "connector" in status:
                worker = status["connector"]["worker_id"]
                return next((each for each in self.hosts if worker == f"127.0.0.1:{each.port}"), None)
        return None

    def stop(self) -> None:
        """Stop what runs."""
        for host in self.hosts:
            host.stop()


@pytest.fixture
def cluster(tmp_path: Path, broker: KafkaBroker) -> Iterator[Cluster]:
    """Start the first host, then the others."""
    made = Cluster(tmp_path, broker, "cluster-of-two")
    try:
        for host in made.hosts:
            host.start()
        yield made
    finally:
        made.stop()


class Reader:
    """Somebody who reads from a host all the time, and counts what is no answer."""

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


def test_a_killed_leader_is_followed_and_nothing_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    """Connectors are made at a host that does not lead, which answers as if it did, before and after."""
    first, second = cluster.hosts
    with NumberedLines(tmp_path, "numbers") as lines:
        for config in lines.configs():
            created = second.rest.create(config)
            assert created.status == 201, created.text + second.last_words()
            assert created.headers["location"].startswith(f"http://127.0.0.1:{second.port}/connectors/")
            assert second.rest.call("GET", f"/connectors/{config['name']}/config").json == config
        assert lines.flows(), first.last_words() + second.last_words()
        assert cluster.leader("numbers-source") is first
        assert {task["worker_id"] for task in second.rest.status("numbers-sink")["tasks"]} == {
            f"127.0.0.1:{first.port}"
        }
        everyone = tree(first.pid)
        lines.arrivals.forget_gaps()
        with Reader(second, "/connectors?expand=status") as reader:
            first.kill()
            killed = time.monotonic()
            refusals = _until_done(second, "PUT", "/connectors/numbers-source/resume")
            accepted = time.monotonic() - killed
            assert lines.flows(30), second.last_words()
        assert (reader.faults, reader.count > 5) == ([], True)
        assert {each.status for each in refusals} <= {409}, refusals
        print(f"writes after {accepted:.1f} s, lines after {lines.arrivals.longest_gap:.1f} s")
        assert accepted < MOST_SECONDS
        assert lines.arrivals.longest_gap < MOST_SECONDS
        await_end(everyone)
        assert cluster.leader("numbers-source") is second
        assert lines.is_complete(), second.last_words()
    assert lines.arrivals.faults == []
    second.stop()
    assert "Traceback" not in second.last_words()


def _until_done(host: HearthDistributed, method: str, path: str) -> list[Answer]:
    """Ask until it is accepted; returns what was answered before."""
    refusals: list[Answer] = []

    def is_accepted() -> bool:
        answer = host.rest.call(method, path)
        if answer.status >= 300:
            refusals.append(answer)
        return answer.status < 300

    assert eventually(is_accepted, 30, every=0.1), refusals
    return refusals
