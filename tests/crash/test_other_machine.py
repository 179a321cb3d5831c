"""Executors on a machine of their own, which is a network namespace: tasks find their host, and lose it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.link.heartbeat import SILENCE_SECONDS
from tests.bench.cluster import SparkCluster
from tests.crash.process import await_end, holder
from tests.peer.hearth_connect import HearthConnect

_NETWORK = f"10.213.{os.getpid() % 256}"  # another run of the tests has another
HERE, THERE = f"{_NETWORK}.1", f"{_NETWORK}.2"


class Machine:
    """A network namespace and the wire between it and this machine."""

    def __init__(self, name: str) -> None:
        self.name, self._near, self._far = name, f"{name}-a", f"{name}-b"

    @property
    def through(self) -> list[str]:
        """Return the command that runs another there."""
        return ["ip", "netns", "exec", self.name]

    def __enter__(self) -> Machine:
        ip("netns", "add", self.name)
        ip("link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self.name)
        ip("addr", "add", f"{HERE}/24", "dev", self._near)
        ip("-n", self.name, "addr", "add", f"{THERE}/24", "dev", self._far)
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "link", "set", self._far, "up")
        self.carry(True)
        return self

    def carry(self, carries: bool) -> None:
        """Let the wire carry everything or nothing."""
        ip("link", "set", self._near, "up" if carries else "down")

    def __exit__(self, *_error: object) -> None:
        ip("link", "del", self._near)
        ip("netns", "del", self.name)


def ip(*arguments: str) -> None:
    """Set up the network."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def machine() -> Iterator[Machine]:
    """Provide a machine; who may not make one is told so."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("a network namespace takes root and iproute2")
    with Machine(f"h{os.getpid()}") as made:
        yield made


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_tasks_on_another_machine_find_their_host_and_end_when_the_network_does(
    tmp_path: Path, broker: KafkaBroker, machine: Machine
) -> None:
    """No key says where the host is. When nothing is carried any more a task ends, and when it is, it runs again."""
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
