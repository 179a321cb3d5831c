"""A sink that is changed repeatedly; its output is compared after each change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.crash.marking import Marking
from tests.peer.side import Side
from tests.peer.worker import Worker
from tests.timeouts import eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"
WAIT = 40.0
# Java waits for members that are stopped while they join as long as their session lasts.
_CLIENT = {"metadata.max.age.ms": "500", "session.timeout.ms": "6000", "heartbeat.interval.ms": "500"}
_FIXED = {
    "connector.class": "FileStreamSink",
    "key.converter": STRING,
    "value.converter": STRING,
    **{f"consumer.override.{key}": value for key, value in _CLIENT.items()},
}


@dataclass(frozen=True)
class Act:
    """An operation on the sink or its topics: a method of ``Sink`` and its arguments."""

    what: str
    names: tuple[str, ...] = ()
    settings: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Change:
    """Acts, and the number of new lines and the states of connector and tasks that must follow."""

    acts: tuple[Act, ...]
    lines: int
    states: tuple[str, ...]


@dataclass(frozen=True)
class SinkLife:
    """The changes of one sink, whose topics are named by their suffixes; they have three partitions each."""

    name: str
    topics: str
    changes: tuple[Change, ...]


class Sink:
    """The sink with its topics and its file on one side."""

    def __init__(self, worker: Worker, side: Side, name: str) -> None:
        self._worker, self._name = worker, name
        file = side.folder / f"{name}.txt"
        self._marking = Marking(side.topics, name, file)
        self._fixed = {"name": name, "file": str(file), **_FIXED}

    def do(self, act: Act) -> None:
        """Execute one act."""
        method: Callable[..., None] = getattr(self, act.what)
        method(*act.names, **({} if act.settings is None else {"settings": act.settings}))

    def topic(self, suffix: str) -> None:
        """Create a topic."""
        self._marking.topic(suffix)

    def put(self, settings: Mapping[str, str]) -> None:
        """Set the configuration; `{}` stands for the topics' prefix."""
        answer = self._worker.rest.call("PUT", f"/connectors/{self._name}/config", self._config(settings))
        assert answer.status in (200, 201), answer.text

    def create(self, settings: Mapping[str, str]) -> None:
        """Create the sink again."""
        answer = self._worker.rest.create(self._config(settings))
        assert answer.status == 201, answer.text

    def ask(self, method: str, what: str) -> None:
        """Send a request about the sink, which has to succeed."""
        answer = self._worker.rest.call(method, f"/connectors/{self._name}/{what}")
        assert answer.status in (200, 202, 204), answer.text

    def delete(self) -> None:
        """Delete the sink."""
        self._worker.delete(self._name)

    def mark(self, *suffixes: str) -> None:
        """Write a record to each partition of these topics."""
        self._marking.mark(*(f"{self._name}-{suffix}" for suffix in suffixes))

    def lines(self) -> list[str]:
        """Return the sorted lines of the file."""
        return sorted(self._marking.lines())

    def states(self) -> list[str]:
        """Return the states of the connector and of its tasks."""
        return self._worker.rest.states(self._name)

    def is_at(self, lines: int, states: tuple[str, ...]) -> bool:
        """Return whether the file has ``lines`` lines and these are the states."""
        return len(self.lines()) >= lines and self.states() == list(states)

    def _config(self, settings: Mapping[str, str]) -> dict[str, str]:
        return {**self._fixed, **{key: value.replace("{}", self._name) for key, value in settings.items()}}


def live(life: SinkLife, side: Side) -> list[dict[str, Any]]:
    """Return the states and the lines after each change."""
    worker = side.worker("json")
    sink = Sink(worker, side, life.name)
    for suffix in life.topics:
        sink.topic(suffix)
    try:
        return list(_changes(life, sink))
    finally:
        sink.delete()


def _changes(life: SinkLife, sink: Sink) -> Iterator[dict[str, Any]]:
    count = 0
    for change in life.changes:
        for act in change.acts:
            sink.do(act)
        count += change.lines
        eventually(partial(sink.is_at, count, change.states), WAIT)
        yield {"states": sink.states(), "lines": sink.lines()}


def _put(**settings: str) -> Act:
    return Act("put", settings={key.replace("_", "."): value for key, value in settings.items()})


def _mark(suffixes: str) -> Act:
    return Act("mark", tuple(suffixes))


_ONE, _TWO, _THREE = (("RUNNING",) * (1 + tasks) for tasks in (1, 2, 3))

SINK_LIVES = (
    SinkLife(
        "reconfigured",
        "abc",
        (
            Change((_put(topics="{}-a"), _mark("ab")), 3, _ONE),
            Change((_put(topics="{}-a,{}-b"), _mark("ab")), 9, _ONE),
            Change((_put(topics="{}-b", tasks_max="3"), _mark("ab")), 3, _THREE),
            Change((_put(topics_regex="{}-[ac]", tasks_max="2"), _mark("abc")), 9, _TWO),
            Change((_put(topics_regex="{}-.*"), _mark("c")), 6, _ONE),
            Change((Act("topic", ("d",)), _mark("d")), 3, _ONE),
            Change((Act("ask", ("PUT", "pause")),), 0, ("PAUSED", "PAUSED")),
            Change((_mark("ad"), Act("ask", ("PUT", "resume"))), 6, _ONE),
            Change((Act("ask", ("POST", "restart?includeTasks=true")), _mark("a")), 3, _ONE),
            Change(
                (
                    Act("delete"),
                    _mark("ac"),
                    Act("create", settings={"topics": "{}-c", "tasks.max": "2"}),
                ),
                3,
                _TWO,
            ),
            Change((_put(topics="{}-a,{}-c"), _mark("c")), 6, _ONE),
        ),
    ),
)
