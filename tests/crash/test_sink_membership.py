"""Members of a sink's group across kills, and across hosts; no session ends by itself within a test."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from tests.crash.marking import LONG_SESSION, SOON, Marking
from tests.crash.process import await_end, find, holder, tree
from tests.peer.hearth_connect import HearthConnect
from tests.peer.rest import eventually
from tests.peer.topic import Topics

STRING = "org.apache.kafka.connect.storage.StringConverter"
NEW_PROTOCOL = {"consumer.override.group.protocol": "consumer"}
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "200"}
START = 60.0
both_protocols = pytest.mark.parametrize("protocol", [LONG_SESSION, NEW_PROTOCOL], ids=["classic", "consumer"])


class Hosts:
    """Standalone hosts that all have one sink, each with a file of its own, given in connector files."""

    def __init__(self, folder: Path, topics: Topics, name: str, running: ExitStack) -> None:
        self._folder, self._topics, self._running = folder, topics, running
        self.name = name
        self.marking = Marking(topics, name, folder / "first.txt", folder / "second.txt")

    def describe(self, which: str, topics: str, **settings: str) -> HearthConnect:
        """Return a host that is not started; one that is described again has the same folder."""
        sink = {
            "name": self.name,
            "connector.class": "FileStreamSink",
            "file": str(self._folder / f"{which}.txt"),
            "topics": topics,
            **settings,
        }
        return HearthConnect(self._folder / which, self._topics.bootstrap_servers, SETTINGS, [sink])

    def start(self, host: HearthConnect) -> HearthConnect:
        """Start a host and wait until its sink's tasks run; it is stopped at the end of the test."""
        self._running.callback(host.stop)
        host.start()
        host.wait_for_state(self.name, "RUNNING", START)
        return host


@pytest.fixture
def hosts(tmp_path: Path, topics: Topics) -> Iterator[Hosts]:
    """Provide hosts, which are stopped afterwards."""
    with ExitStack() as running:
        yield Hosts(tmp_path, topics, f"member-{uuid.uuid4().hex[:8]}", running)


@both_protocols
def test_a_killed_hosts_sink_flows_again_with_what_its_file_says_now(
    hosts: Hosts, protocol: Mapping[str, str]
) -> None:
    """Its members never left; whoever took their places would be given their topics, or be turned away."""
    a, b = hosts.marking.topic("a"), hosts.marking.topic("b")
    host = hosts.start(hosts.describe("first", a, **{"tasks.max": "2"}, **protocol))
    hosts.marking.arrive(a)
    kill_at_once(host)
    again = hosts.start(hosts.describe("first", f"{a},{b}", **{"tasks.max": "2"}, **protocol))
    hosts.marking.arrive(a, b)
    assert again.rest.states(hosts.name) == ["RUNNING"] * 3


@both_protocols
def test_a_killed_tasks_next_run_reads_on(hosts: Hosts, protocol: Mapping[str, str]) -> None:
    """The Python worker of a task is killed with the consumer in it, and Spark starts the task anew."""
    a = hosts.marking.topic("a")
    host = hosts.start(hosts.describe("first", a, **protocol))
    hosts.marking.arrive(a)
    for _ in range(2):
        stage = holder(hosts.marking.files[0])
        os.kill(find(stage.parent).pid, signal.SIGKILL)
        await_end([stage])
        hosts.marking.arrive(a, timeout=START)
    assert host.rest.states(hosts.name) == ["RUNNING", "RUNNING"]


@both_protocols
def test_two_hosts_share_the_partitions_of_a_sink(hosts: Hosts, protocol: Mapping[str, str]) -> None:
    """As two of Java's do: neither fences the other, and what one gives up the other takes."""
    a = hosts.marking.topic("a")
    first = hosts.start(hosts.describe("first", a, **protocol))
    hosts.marking.arrive(a)
    second = hosts.start(hosts.describe("second", a, **protocol))
    assert eventually(partial(_second_has_some, hosts.marking, a), SOON)
    assert [host.rest.states(hosts.name) for host in (first, second)] == [["RUNNING", "RUNNING"]] * 2
    first.stop()
    hosts.marking.arrive(a)
    assert second.rest.states(hosts.name) == ["RUNNING", "RUNNING"]
    hosts.marking.arrived_once()


def kill_at_once(host: HearthConnect) -> None:
    """Kill everything of a host, tasks before it: those that see it go would leave their groups in order."""
    processes = tree(host.pid)
    for each in reversed(processes):
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)
    host.kill()
    await_end(processes)


def _second_has_some(marking: Marking, topic: str) -> bool:
    marking.arrive(topic)
    return marking.files[1].exists() and bool(marking.files[1].read_text())
