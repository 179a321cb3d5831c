"""A sink that is changed again and again, on Java's Kafka Connect and on Hearth, in step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.marking import Marking
from tests.peer.hearth_connect import HearthConnect
from tests.peer.java_connect import JavaConnect
from tests.peer.rest import eventually
from tests.peer.topic import Topics
from tests.peer.worker import Worker

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.xdist_group("peer")]

STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {"key.converter": STRING, "value.converter": STRING}
WAIT = 40.0
# Java's members that are stopped while they join are waited for as long as their session lasts.
CLIENT = {"metadata.max.age.ms": "500", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}


class Side:
    """One worker with the sink, its own topics and its own file."""

    def __init__(self, worker: Worker, topics: Topics, folder: Path) -> None:
        self.worker = worker
        self.name = f"reconfigured-{worker.side}"
        self._marking = Marking(topics, self.name, folder / f"{worker.side}.txt")
        self._fixed = {
            "name": self.name,
            "connector.class": "FileStreamSink",
            "file": str(folder / f"{worker.side}.txt"),
            **{f"consumer.override.{key}": value for key, value in CLIENT.items()},
        }

    def topic(self, suffix: str) -> None:
        """Create a topic."""
        self._marking.topic(suffix)

    def put(self, **settings: str) -> None:
        """Set the configuration; `{}` stands for what this side's topics begin with."""
        answer = self.worker.rest.call("PUT", f"/connectors/{self.name}/config", self._config(settings))
        assert answer.status in (200, 201), answer.text

    def create(self, **settings: str) -> None:
        """Create the sink anew."""
        answer = self.worker.rest.create(self._config(settings))
        assert answer.status == 201, answer.text

    def ask(self, method: str, what: str) -> None:
        """Send a request about the sink, which has to be taken."""
        answer = self.worker.rest.call(method, f"/connectors/{self.name}/{what}")
        assert answer.status in (200, 202, 204), answer.text

    def delete(self) -> None:
        """Delete the sink."""
        self.worker.delete(self.name)

    def mark(self, *suffixes: str) -> None:
        """Write a record into every partition of these topics."""
        self._marking.mark(*(f"{self.name}-{suffix}" for suffix in suffixes))

    def lines(self) -> list[str]:
        """Return the lines of the file, sorted and without the side's name."""
        return sorted(line.replace(self.name, "") for line in self._marking.lines())

    def states(self) -> list[str]:
        """Return the states of the connector and of its tasks."""
        return self.worker.rest.states(self.name)

    def _config(self, settings: Mapping[str, str]) -> dict[str, str]:
        filled = {key.replace("_", "."): value.replace("{}", self.name) for key, value in settings.items()}
        return {**self._fixed, **filled}


class Both:
    """Java and Hearth; what is asked of both is asked of one after the other."""

    def __init__(self, java: Side, hearth: Side) -> None:
        self.java, self.hearth = java, hearth
        self._lines = 0

    def do(self, act: str, *args: str, **settings: str) -> None:
        """Call a method of both sides."""
        for side in (self.java, self.hearth):
            getattr(side, act)(*args, **settings)

    def agree(self, lines: int, *states: str) -> None:
        """Wait until so many lines more have come and the states are these, on both sides, and compare the lines."""
        self._lines += lines
        for side in (self.java, self.hearth):
            eventually(lambda side=side: self._is_through(side, states), WAIT)  # type: ignore[misc]
            assert side.states() == list(states), side.worker.last_words()
        assert len(self.java.lines()) == self._lines
        assert self.hearth.lines() == self.java.lines()

    def _is_through(self, side: Side, states: tuple[str, ...]) -> bool:
        return len(side.lines()) >= self._lines and side.states() == list(states)


@pytest.fixture
def both(broker: KafkaBroker, tmp_path: Path) -> Iterator[Both]:
    """Provide both sides with the topics a, b and c, of three partitions each."""
    topics = Topics(broker.bootstrap_servers)
    workers = [
        JavaConnect(tmp_path / "java-worker", broker.bootstrap_servers, SETTINGS),
        HearthConnect(tmp_path / "hearth-worker", broker.bootstrap_servers, SETTINGS),
    ]
    with ExitStack() as running:
        for worker in workers:
            running.enter_context(worker)
        made = Both(*(Side(worker, topics, tmp_path) for worker in workers))
        for suffix in "abc":
            made.do("topic", suffix)
        yield made


def test_a_reconfigured_sink_reads_the_same_on_both_sides(both: Both) -> None:
    """Topics come and go by name and by pattern, tasks too; it is paused, restarted, deleted and made again."""
    running = "RUNNING"
    both.do("put", topics="{}-a")
    both.do("mark", "a", "b")
    both.agree(3, running, running)
    both.do("put", topics="{}-a,{}-b")
    both.do("mark", "a", "b")
    both.agree(9, running, running)
    both.do("put", topics="{}-b", tasks_max="3")
    both.do("mark", "a", "b")
    both.agree(3, running, running, running, running)
    both.do("put", topics_regex="{}-[ac]", tasks_max="2")
    both.do("mark", "a", "b", "c")
    both.agree(9, running, running, running)
    both.do("put", topics_regex="{}-.*")
    both.do("mark", "c")
    both.agree(6, running, running)
    both.do("topic", "d")
    both.do("mark", "d")
    both.agree(3, running, running)
    both.do("ask", "PUT", "pause")
    both.agree(0, "PAUSED", "PAUSED")
    both.do("mark", "a", "d")
    both.do("ask", "PUT", "resume")
    both.agree(6, running, running)
    both.do("ask", "POST", "restart?includeTasks=true")
    both.do("mark", "a")
    both.agree(3, running, running)
    both.do("delete")
    both.do("mark", "a", "c")
    both.do("create", topics="{}-c", tasks_max="2")
    both.agree(3, running, running, running)
    both.do("put", topics="{}-a,{}-c")
    both.do("mark", "c")
    both.agree(6, running, running)
