"""An operator's changes to a sink take effect immediately, without waiting for a session to expire."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.marking import LONG_SESSION, Marking
from tests.integration.conftest import Host
from tests.peer.topic import Topics

CLASS = "org.apache.kafka.connect.file.FileStreamSinkConnector"
PROTOCOLS = {"classic": LONG_SESSION, "consumer": {"consumer.override.group.protocol": "consumer"}}


class Sink:
    """A file sink, the topics it may read, and the marks that show what it reads."""

    def __init__(self, host: Host, name: str, marking: Marking, settings: dict[str, str]) -> None:
        self.host, self.name, self.marking = host, f"{name}-sink", marking
        self._fixed = {
            "name": self.name,
            "connector.class": CLASS,
            "file": str(marking.files[0]),
            "consumer.override.metadata.max.age.ms": "500",
            **settings,
        }

    def config(self, **changed: str) -> dict[str, str]:
        """Return a configuration; keys have underscores for dots."""
        return {**self._fixed, **{key.replace("_", "."): value for key, value in changed.items()}}

    def put(self, **changed: str) -> None:
        """Create the sink or change its configuration."""
        answer = self.host.rest.call("PUT", f"/connectors/{self.name}/config", self.config(**changed))
        assert answer.status in (200, 201), answer.text

    def arrive(self, *topics: str) -> None:
        """Mark topics and wait until the marks arrive; print the host's output if they do not."""
        try:
            self.marking.arrive(*topics)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.host.rest.status(self.name)}\n{self.host.last_words()}") from None

    def restart(self, what: str) -> None:
        """Restart a connector or task, which has to be accepted."""
        answer = self.host.rest.call("POST", f"/connectors/{self.name}/{what}")
        assert answer.status in (202, 204), answer.text


@pytest.fixture(params=PROTOCOLS)
def sink(request: pytest.FixtureRequest, host: Host, topics: Topics, name: str, tmp_path: Path) -> Sink:
    """Provide a sink that is not created yet; its sessions last two minutes."""
    return Sink(host, name, Marking(topics, name, tmp_path / "out.txt"), PROTOCOLS[request.param])


def test_topics_are_added_and_removed(sink: Sink) -> None:
    """By name and by pattern; records of a removed topic wait until it is read again."""
    marking = sink.marking
    a, b, c = (marking.topic(suffix) for suffix in "abc")
    sink.put(topics=a)
    sink.arrive(a)
    sink.put(topics=f"{a},{b}")
    sink.arrive(a, b)
    sink.put(topics=c)
    sink.arrive(c)
    waiting = marking.mark(a)
    sink.put(topics_regex=f"{marking.name}-[bc]")
    sink.arrive(b, c)
    marking.arrived_once(besides=waiting)
    sink.put(topics_regex=f"{marking.name}-[a-d]")
    sink.arrive(a, b, c)
    sink.arrive(marking.topic("d"))
    marking.arrived_once()


def test_tasks_are_added_and_removed(sink: Sink) -> None:
    """The other tasks read the partitions of a removed task, also when one of them is restarted."""
    topic = sink.marking.topic("a")
    for tasks in ("1", "3", "2", "1"):
        sink.put(topics=topic, tasks_max=tasks)
        sink.arrive(topic)
        sink.restart("tasks/0/restart")
        sink.arrive(topic)
    sink.marking.arrived_once()


def test_a_recreated_sink_reads_its_new_topics(sink: Sink) -> None:
    """It reads the topics of its configuration, from the group's committed offsets."""
    marking = sink.marking
    a, b = marking.topic("a"), marking.topic("b")
    sink.put(topics=a, tasks_max="2")
    sink.arrive(a)
    sink.host.delete(sink.name)
    marking.mark(a, b)
    assert sink.host.rest.create(sink.config(topics=f"{a},{b}")).status == 201
    sink.arrive(a, b)
    marking.arrived_once()


@pytest.mark.parametrize("what", ["restart?includeTasks=true", "tasks/0/restart"])
def test_repeated_restarts_do_not_wait_for_a_joining_run(sink: Sink, what: str) -> None:
    """Three in a row, without waiting for the run that is just joining."""
    topic = sink.marking.topic("a")
    sink.put(topics=topic, tasks_max="2")
    sink.arrive(topic)
    for _ in range(3):
        sink.restart(what)
    sink.arrive(topic)
    sink.marking.arrived_once()
