"""Case j: the throughput of plugins in record form, with the same connectors in Java and in Python.

The kinds of records that sources create and sinks read (`tests/bundles/pace`, and `java` next to this file): texts;
with a key and a time; also with two headers; structs as JSON with schemas; these through a transformation from the
same bundle. Records with headers come a second time for Hearth's plugins that work on columns. Java has none, and its
figures are those of the previous row: a second run would find its JVM warmer than other rows do. For the same reason
the sources without a sink are last: to several topics in turn, with one schema and with as many, and with few records
in a poll.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from tests.bench.bench import Bench, running
from tests.bench.dirty_data import headed
from tests.bench.meter import Meter
from tests.bench.result import Metric, Result
from tests.bench.throughput import follow
from tests.bundles.build import plugin_path
from tests.crash.twin import compiler, twin_plugins
from tests.peer.worker import Worker

SHARE = 6
"""The number of records of cases a to d is divided by this for each row."""
_LOOKS = 200  # seconds between checks for a failed task
_TEXT = "the quick brown fox jumps over the lazy dog, " * 2
_START = 1_700_000_000_000
_STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
_SERVICES = {
    "sink.SinkConnector": "org.example.pace.PaceSink",
    "source.SourceConnector": "org.example.pace.PaceSource",
    "transforms.Transformation": "org.example.pace.Label\norg.example.pace.Raise\norg.example.pace.Refuse",
}
_MANY = {"at.once": "2000"}
_LABEL = {"transforms": "label", "transforms.label.type": "org.example.pace.Label"}


@dataclass(frozen=True)
class Row:
    """A kind of record, and its connectors' configuration; sinks of texts have their own goal."""

    name: str
    shape: str
    config: Mapping[str, str]
    sink_goal: float = 1.0
    source_goal: float = 1.5
    is_batch: bool = False
    """Whether Hearth's connectors work on columns."""
    arriving: float = 1.0
    """The share of a topic's records that the sink reads."""
    turns: int = 0
    """Topics to which a source writes its records in turn; such a row has no sink."""
    header: str = ""
    """The kind of the header that each record has (`dirty_data.HEADERS`), in the shape `any`."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of connectors."""
        return ("source",) if self.turns or "at.once" in self.config else ("source", "sink")

    def topics(self, name: str) -> list[str]:
        """Return the topics of a source with the name."""
        return [f"{name}-{turn}" for turn in range(self.turns)] or [name]

    def connector(self, side: str, kind: str) -> str:
        """Return the class of the source or sink of a side."""
        return f"org.example.pace.Pace{'Batch' if self.is_batch and side == 'hearth' else ''}{kind.capitalize()}"


_ROWS = (
    Row("text", "text", _STRING, 0.5),
    Row("with key and time", "keyed", _STRING, 0.5),
    Row("and two headers", "headed", _STRING),
    Row("and two headers, in columns", "headed", _STRING, 2.0, 2.0, is_batch=True),
    Row("struct", "struct", {}),
    Row("struct, transformed", "struct", _LABEL),
    Row("with key and time, to five topics in turn", "turns", _STRING, turns=5),
    *(
        Row(
            f"struct, {count} topics and schemas in turn", "kinds_in_turn", {**_MANY, "kinds": str(count)}, turns=count
        )
        for count in (1, 20, 100)
    ),
    Row("text, ten in a poll", "text", {**_STRING, "at.once": "10"}),
)


def measure(bench: Bench) -> Result:
    """Run every row of a side as source and as sink in one worker; the sides alternate."""
    world = World(bench, _ROWS)
    metrics = [metric for row in _ROWS for kind in row.kinds for metric in _metrics(row, kind)]
    result = Result("j", f"record form, {world.count:,} records", metrics)
    for pair, side in bench.runs():
        settings = {"plugin.path": str(world.plugins(side)), "key.converter": _STRING["value.converter"]}
        worker = bench.worker(side, settings, strings=False)
        with running(worker) as meter:
            known: dict[Hashable, tuple[float, ...]] = {}
            for row, kind in [(each, kind) for each in _ROWS for kind in each.kinds]:
                same = (row.connector(side, kind), row.shape, *row.config.items())
                if same not in known:
                    known[same] = tuple(world.run(worker, meter, row, kind).values())
                    summary = ", ".join(f"{value:,.2f}" for value in known[same])
                    bench.say(f"j {pair}/{bench.pairs} {side} {kind} {row.name}: {summary}")
                result.add(side, **dict(zip([metric.name for metric in _metrics(row, kind)], known[same])))
    world.close()
    return result


def _metrics(row: Row, kind: str) -> tuple[Metric, Metric]:
    name = f"{kind} {row.name}"
    goal = row.source_goal if kind == "source" else row.sink_goal
    return (
        Metric(f"{name} rate", f"{name}, records/s", goal=goal, format="{:,.0f}"),
        Metric(f"{name} cpu", f"{name}, CPU s per million", "lower", format="{:.2f}"),
    )


class World:
    """The plugins of both sides, and a topic of each kind for the sinks."""

    def __init__(self, bench: Bench, sinks: Sequence[Row] = (), share: int = SHARE) -> None:
        self.bench = bench
        self.count = bench.records // share
        read = dict.fromkeys((row.shape, row.header) for row in sinks if "sink" in row.kinds)
        self._topics = {(shape, header): self._filled(shape, header) for shape, header in read}
        self._plugins: dict[str, Path] = {}

    def plugins(self, side: str) -> Path:
        """Return the plugin.path of a side."""
        if side not in self._plugins:
            self._plugins[side] = plugin_path("pace") if side == "hearth" else self._compiled()
        return self._plugins[side]

    def run(self, worker: Worker, meter: Meter, row: Row, kind: str, partitions: int = 1) -> dict[str, float]:
        """Run once; a source writes to ``partitions`` partitions."""
        if kind == "sink":
            return self._sink(worker, meter, row)
        topic = self.bench.fresh("bench-j")
        topics = row.topics(topic)
        for each in topics:
            self.bench.topics.create(each, partitions)
        config = {"connector.class": row.connector(worker.side, kind), "records": str(self.count), "topic": topic}
        try:
            with self.bench.topics.watched(*topics, partitions=partitions) as count:
                return self.follow_to_end(worker, meter, row, {"name": topic, **config}, count)
        finally:
            self.bench.topics.delete(topics)

    def close(self) -> None:
        """Remove the topics."""
        self.bench.topics.delete(list(self._topics.values()))

    def _compiled(self) -> Path:
        javac = compiler()
        assert javac is not None, "Java's side of this case needs a JDK: install one, or run --only hearth"
        folder, sources = self.bench.folder / self.bench.fresh("pace"), Path(__file__).with_name("java")
        return twin_plugins(folder, javac, sources, _SERVICES)

    def _sink(self, worker: Worker, meter: Meter, row: Row) -> dict[str, float]:
        name = self.bench.fresh("sink")
        file = self.bench.folder / f"{name}.txt"
        class_name = row.connector(worker.side, "sink")
        config = {"connector.class": class_name, "topics": self._topics[row.shape, row.header], "file": str(file)}
        try:
            return self.follow_to_end(worker, meter, row, {"name": name, **config}, lambda: _number_in(file))
        finally:
            file.unlink(missing_ok=True)
            self.bench.topics.delete_groups([f"connect-{name}"])

    def follow_to_end(
        self, worker: Worker, meter: Meter, row: Row, config: Mapping[str, str], count: Callable[[], float]
    ) -> dict[str, float]:
        costs = []
        answer = worker.rest.create({**config, **row.config, "shape": row.shape})
        assert answer.status == 201, answer.text
        looks = itertools.count()

        def is_alive() -> bool:
            return next(looks) % _LOOKS > 0 or "FAILED" not in worker.rest.states(config["name"])

        arriving = int(self.count * row.arriving)
        progress = follow(count, arriving, is_alive, lambda: costs.append(meter.refreshed().cpu))
        flowed = (progress.count - progress.first_count) / 1e6
        cpu = (meter.refreshed().cpu - costs[0]) / flowed
        worker.delete(config["name"])
        name = f"{'sink' if 'topics' in config else 'source'} {row.name}"
        return {f"{name} rate": progress.rate, f"{name} cpu": cpu}

    def _filled(self, shape: str, header: str) -> str:
        topic = self.bench.fresh("bench-j")
        self.bench.topics.create(topic)
        self.bench.say(f"j: filling {topic}")
        producer = Producer({"bootstrap.servers": self.bench.broker.bootstrap_servers, "linger.ms": 20})
        for message in (
            _headed(header, self.count) if header else (_message(shape, each) for each in range(self.count))
        ):
            while True:
                try:
                    producer.produce(topic, **message)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0
        return topic


def _message(shape: str, number: int) -> dict[str, object]:
    """Return the message that a sink of this shape reads, and a source of it writes."""
    if shape == "struct":
        fields = [{"type": kind, "optional": False, "field": name}
                  for kind, names in (("string", "abcd"), ("int64", "wxyz")) for name in names]  # fmt: skip
        payload = {"a": "some text", "b": f"text {number}", "c": "more", "d": f"{number % 100}",
                   "w": number, "x": number * 1000, "y": -number, "z": 7}  # fmt: skip
        schema = {"type": "struct", "fields": fields, "optional": False, "name": "pace"}
        return {"value": json.dumps({"schema": schema, "payload": payload}, separators=(",", ":")).encode()}
    message: dict[str, object] = {"value": f"{_TEXT}{number:07d}".encode()}
    if shape != "text":
        message |= {"key": f"key-{number % 1000}".encode(), "timestamp": _START + number}
    if shape == "headed":
        message["headers"] = [("trace", f"trace-{number}".encode()), ("origin", b"pace")]
    return message


def _headed(kind: str, count: int) -> Iterator[dict[str, object]]:
    """Yield messages with a header of a kind of value."""
    for message in headed(kind)(count):
        yield {"value": message.value, "headers": list(message.headers)}


def _number_in(file: Path) -> int:
    try:
        return int(file.read_text() or 0)
    except FileNotFoundError:
        return 0
