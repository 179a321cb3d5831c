"""Members of a sink's group across kills and across hosts; no session expires within a test.

Every host runs a sink of either protocol. The tests share hosts: each continues from the state that the previous one
left.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.marking import LONG_SESSION, Marking
from tests.crash.process import await_end, holder, owner, tree
from tests.peer.hearth_connect import HearthConnect
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"
PROTOCOLS = {"classic": LONG_SESSION, "consumer": {"consumer.override.group.protocol": "consumer"}}
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "200"}


class Sink:
    """One of the sinks of every host, with its own file and its marks."""

    def __init__(self, folder: Path, topics: Topics, name: str, settings: Mapping[str, str]) -> None:
        self.name = name
        self._settings = settings
        self.files = {which: folder / f"{which}-{name}.txt" for which in ("first", "second")}
        self.marking = Marking(topics, name, *self.files.values())
        self.a, self.b = self.marking.topic("a"), self.marking.topic("b")

    def config(self, which: str, *topics: str, **settings: str) -> dict[str, str]:
        """Return the content of a host's connector file."""
        return {
            "name": self.name,
            "connector.class": "FileStreamSink",
            "file": str(self.files[which]),
            "topics": ",".join(topics),
            **{key.replace("_", "."): value for key, value in settings.items()},
            **self._settings,
        }


class Hosts:
    """Standalone hosts; a restarted host has the same folder."""

    def __init__(self, folder: Path, topics: Topics, running: ExitStack) -> None:
        self._folder, self._topics, self._running = folder, topics, running
        name = f"member-{uuid.uuid4().hex[:8]}"
        self.sinks = [Sink(folder, topics, f"{name}-{word}", settings) for word, settings in PROTOCOLS.items()]
        self.up: dict[str, HearthConnect] = {}

    def start(self, which: str, *suffixes: str, **settings: str) -> HearthConnect:
        """Start a host with topics for its sinks, and wait until their tasks run."""
        configs = [
            sink.config(which, *(f"{sink.name}-{each}" for each in suffixes), **settings) for sink in self.sinks
        ]
        host = HearthConnect(self._folder / which, self._topics.bootstrap_servers, SETTINGS, configs)
        self._running.callback(host.stop)
        host.start()
        for sink in self.sinks:
            host.wait_for_state(sink.name, "RUNNING", TIMEOUT)
        self.up[which] = host
        return host

    def stop(self, which: str) -> None:
        """Stop a host in order."""
        self.up.pop(which).stop()

    def any(self) -> tuple[str, HearthConnect]:
        """Return a running host; start one if none runs."""
        if not self.up:
            self.start("first", "a")
        return next(iter(self.up.items()))

    def are_running(self, tasks: int = 1) -> bool:
        """Return whether all sinks run on all hosts, each with ``tasks`` tasks."""
        wanted = ["RUNNING"] * (1 + tasks)
        return all(host.rest.states(sink.name) == wanted for host in self.up.values() for sink in self.sinks)


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory, broker: KafkaBroker) -> Iterator[Hosts]:
    """Provide hosts and stop them at the end."""
    with ExitStack() as running:
        yield Hosts(tmp_path_factory.mktemp("members"), Topics(broker.bootstrap_servers), running)


def test_two_hosts_share_the_partitions_of_a_sink(hosts: Hosts) -> None:
    """As two Java workers do: neither fences the other, and one takes the partitions that the other gives up."""
    hosts.start("first", "a")
    for sink in hosts.sinks:
        sink.marking.arrive(sink.a)
    hosts.start("second", "a")
    for sink in hosts.sinks:
        assert eventually(partial(_second_has_some, sink), TIMEOUT), sink.name
    assert hosts.are_running()
    hosts.stop("first")
    for sink in hosts.sinks:
        sink.marking.arrive(sink.a)
    assert hosts.are_running()
    for sink in hosts.sinks:
        sink.marking.arrived_once()


def test_the_next_run_of_a_killed_task_continues_reading(hosts: Hosts) -> None:
    """Its Python worker is killed with the consumer in it, and Spark restarts the task."""
    which, _ = hosts.any()
    for sink in hosts.sinks * 2:
        sink.marking.arrive(sink.a)
        stage = holder(sink.files[which])
        os.kill(owner(stage).pid, signal.SIGKILL)
        await_end([stage])
        sink.marking.arrive(sink.a, timeout=TIMEOUT)
    assert hosts.are_running()


def test_a_restarted_hosts_sink_reads_the_topics_of_its_changed_file(hosts: Hosts) -> None:
    """The dead host's members never left; new members would be assigned their topics, or be rejected."""
    which, host = hosts.any()
    for sink in hosts.sinks:
        config = sink.config(which, sink.a, tasks_max="2")
        assert host.rest.call("PUT", f"/connectors/{sink.name}/config", config).status == 200
    assert eventually(partial(hosts.are_running, 2), TIMEOUT)
    for sink in hosts.sinks:
        sink.marking.arrive(sink.a)
    kill_at_once(hosts.up.pop(which))
    hosts.start(which, "a", "b", tasks_max="2")
    for sink in hosts.sinks:
        sink.marking.arrive(sink.a, sink.b)
    assert hosts.are_running(2)


def kill_at_once(host: HearthConnect) -> None:
    """Kill all processes of a host, tasks first: tasks that notice the host's end leave their groups in order."""
    processes = tree(host.pid)
    for each in reversed(processes):
        with suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)
    host.kill()
    await_end(processes)


def _second_has_some(sink: Sink) -> bool:
    sink.marking.arrive(sink.a)
    file = sink.files["second"]
    return file.exists() and bool(file.read_text())
