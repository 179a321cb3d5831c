"""What an operator changes at a sink takes effect at once, and not when a session ends that nobody ended."""

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
        """Return a configuration; keys are written with underscores for dots."""
        return {**self._fixed, **{key.replace("_", "."): value for key, value in changed.items()}}

    def put(self, **changed: str) -> None:
        """Create the sink or change its configuration."""
        answer = self.host.rest.call("PUT", f"/connectors/{self.name}/config", self.config(**changed))
        assert answer.status in (200, 201), answer.text

    def arrive(self, *topics: str) -> None:
        """Mark topics and wait until the marks are there; say what the host says where they are not."""
        try:
            self.marking.arrive(*topics)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.host.rest.status(self.name)}\n{self.host.last_words()}") from None

    def restart(self, what: str) -> None:
        """Restart something, which has to be taken."""
        answer = self.host.rest.call("POST", f"/connectors/{self.name}/{what}")
        assert answer.status in (202, 204), answer.text


@pytest.fixture(params=PROTOCOLS)
def sink(request: pytest.FixtureRequest, host: Host, topics: Topics, name: str, tmp_path: Path) -> Sink:
    """Provide a sink that is not created yet; nothing shorter than two minutes ends a session of it."""
    return Sink(host, name, Marking(topics, name, tmp_path / "out.txt"), PROTOCOLS[request.param])


def test_topics_are_added_and_taken_away(sink: Sink) -> None:
    """By name and by pattern; what is not read any more waits for who reads it again."""
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


def test_tasks_are_added_and_taken_away(sink: Sink) -> None:
    """The partitions of a task that is gone are read by the others, also when one of them is restarted."""
    topic = sink.marking.topic("a")
    for tasks in ("1", "3", "2", "1"):
        sink.put(topics=topic, tasks_max=tasks)
        sink.arrive(topic)
        sink.restart("tasks/0/restart")
        sink.arrive(topic)
    sink.marking.arrived_once()


def test_a_sink_of_the_same_name_is_another_sink(sink: Sink) -> None:
    """What it reads is what its configuration says, from where the group is."""
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
def test_a_restart_may_come_before_the_last_one_has_joined(sink: Sink, what: str) -> None:
    """Three in a row: whichever run was just joining is not waited for."""
    topic = sink.marking.topic("a")
    sink.put(topics=topic, tasks_max="2")
    sink.arrive(topic)
    for _ in range(3):
        sink.restart(what)
    sink.arrive(topic)
    sink.marking.arrived_once()
