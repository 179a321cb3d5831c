"""Case t: the throughput of each transformation, in its own pipeline.

With a schema, the lines of a file become structs (HoistField) for the transformation, and JSON with schemas in Kafka.
Without one, JSON objects from Kafka become maps for the transformation, and text in a file.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException, Producer

from tests.bench.bench import Bench, running
from tests.bench.meter import Meter
from tests.bench.result import Metric, Result
from tests.bench.throughput import LINE_BYTES, follow, lines, produce, write_lines
from tests.peer.case import SINK_CLASS, SOURCE_CLASS, predicates, transforms
from tests.peer.worker import Worker

GOAL = 3.0
SHARE = 6
"""The number of records of the other cases is divided by this for each pipeline."""
_LOOKS = 200  # seconds between checks for a failed task
_HOIST = {"type": "HoistField$Value", "field": "line"}
_TEXT = {"type": "InsertField$Value", "static.field": "n", "static.value": "12345"}
_TIME = {"type": "InsertField$Value", "timestamp.field": "at"}
_LABEL = {"type": "InsertHeader", "header": "h", "value.literal": "text"}
_STRUCTS: dict[str, tuple[Mapping[str, str], ...]] = {
    "HoistField": (),
    "InsertField": (_TEXT,),
    "InsertField topic, timestamp": ({**_TIME, "topic.field": "topic"},),
    "MaskField": ({"type": "MaskField$Value", "fields": "line"},),
    "MaskField replacement": ({"type": "MaskField$Value", "fields": "line", "replacement": "*"},),
    "ReplaceField": ({"type": "ReplaceField$Value", "renames": "line:text"},),
    "Cast": (_TEXT, {"type": "Cast$Value", "spec": "n:int32"}),
    "ExtractField": (_TEXT, {"type": "ExtractField$Value", "field": "line"}),
    "Flatten": ({"type": "HoistField$Value", "field": "outer"}, {"type": "Flatten$Value"}),
    "ValueToKey": ({"type": "ValueToKey", "fields": "line"},),
    "SetSchemaMetadata": ({"type": "SetSchemaMetadata$Value", "schema.name": "lines"},),
    "TimestampConverter": (_TIME, {"type": "TimestampConverter$Value", "field": "at", "target.type": "unix"}),
    "TimestampConverter string": (
        _TIME,
        {"type": "TimestampConverter$Value", "field": "at", "target.type": "string", "format": "yyyy-MM-dd HH:mm:ss"},
    ),
    "TimestampRouter": (_TIME, {"type": "TimestampRouter", "topic.format": "${topic}"}),
    "RegexRouter": ({"type": "RegexRouter", "regex": "(.*)", "replacement": "$1"},),
    "InsertHeader": (_LABEL,),
    "DropHeaders": (_LABEL, {"type": "DropHeaders", "headers": "h"}),
    "HeaderFrom copy": (_TEXT, {"type": "HeaderFrom$Value", "fields": "n", "headers": "h", "operation": "copy"}),
    "HeaderFrom move": (_TEXT, {"type": "HeaderFrom$Value", "fields": "n", "headers": "h", "operation": "move"}),
    **{f"Filter by {name}": ({"type": "Filter", "predicate": name},) for name in ("tombstone", "topic", "header")},
}  # fmt: skip
_MAPS: dict[str, tuple[Mapping[str, str], ...]] = {
    "none": (),
    "HoistField": (_HOIST,),
    "InsertField": (_TEXT,),
    "MaskField": ({"type": "MaskField$Value", "fields": "line"},),
    "ReplaceField": ({"type": "ReplaceField$Value", "renames": "line:text"},),
    "Cast": ({"type": "Cast$Value", "spec": "n:string"},),
    "ExtractField": ({"type": "ExtractField$Value", "field": "line"},),
    "Flatten": ({"type": "Flatten$Value"},),
    "ValueToKey": ({"type": "ValueToKey", "fields": "n"},),
    "TimestampConverter": ({"type": "TimestampConverter$Value", "field": "n", "target.type": "Timestamp"},),
    "HeaderFrom move": ({"type": "HeaderFrom$Value", "fields": "n", "headers": "h", "operation": "move"},),
}
_PREDICATES = predicates(
    tombstone={"type": "RecordIsTombstone"},
    topic={"type": "TopicNameMatches", "pattern": "other.*"},
    header={"type": "HasHeaderKey", "name": "other"},
)
_PLAIN_JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@dataclass
class _Pipeline:
    """A connector with a transformation, and the count of its records that have arrived."""

    name: str
    config: Mapping[str, str]

    @property
    def metrics(self) -> tuple[Metric, Metric]:
        """Return the two rows of the table."""
        return (
            Metric(f"{self.name} rate", f"{self.name}, records/s", goal=GOAL, format="{:,.0f}"),
            Metric(f"{self.name} cpu", f"{self.name}, CPU s per million", "lower", format="{:.2f}"),
        )


def measure(bench: Bench) -> Result:
    """Run all pipelines of a side in one worker; the sides alternate."""
    world = _World(bench)
    pipelines = [*world.sources(), *world.sinks()]
    metrics = [metric for pipeline in pipelines for metric in pipeline.metrics]
    result = Result("t", f"each transformation by itself, {world.count:,} records of {LINE_BYTES} bytes", metrics)
    for pair, side in bench.runs():
        worker = bench.worker(side, strings=False)
        with running(worker) as meter:
            for pipeline in pipelines:
                values = world.run(worker, meter, pipeline)
                result.add(side, **values)
                summary = ", ".join(f"{value:,.2f}" for value in values.values())
                bench.say(f"t {pair}/{bench.pairs} {side} {pipeline.name}: {summary}")
    world.close()
    return result


class _World:
    """A file of lines for the sources, a topic of objects for the sinks."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.count = bench.records // SHARE
        self.file = bench.folder / f"lines-{self.count}.txt"
        write_lines(self.file, self.count)
        self.topic = bench.fresh("bench-t")
        bench.topics.create(self.topic)
        self._fill()

    def sources(self) -> list[_Pipeline]:
        """Return the pipelines with a schema."""
        base = {"connector.class": SOURCE_CLASS, "file": str(self.file), **_PREDICATES}
        return [_Pipeline(name, {**base, **_chain((_HOIST, *steps))}) for name, steps in _STRUCTS.items()]

    def sinks(self) -> list[_Pipeline]:
        """Return the pipelines without one."""
        base = {"connector.class": SINK_CLASS, "topics": self.topic, **_PLAIN_JSON}
        return [_Pipeline(f"map: {name}", {**base, **_chain(steps)}) for name, steps in _MAPS.items()]

    def run(self, worker: Worker, meter: Meter, pipeline: _Pipeline) -> dict[str, float]:
        """Run once."""
        if "topics" in pipeline.config:
            return self._run_sink(worker, meter, pipeline)
        topic = self.bench.fresh("bench-t")
        self.bench.topics.create(topic)
        try:
            with self.bench.topics.watched(topic) as count:
                return self._follow(worker, meter, pipeline, {"name": topic, "topic": topic}, patiently(count))
        finally:
            self.bench.topics.delete([topic])

    def _run_sink(self, worker: Worker, meter: Meter, pipeline: _Pipeline) -> dict[str, float]:
        name = self.bench.fresh("sink")
        file = self.bench.folder / f"{name}.txt"
        try:
            return self._follow(worker, meter, pipeline, {"name": name, "file": str(file)}, Lines(file))
        finally:
            file.unlink(missing_ok=True)
            self.bench.topics.delete_groups([f"connect-{name}"])

    def _follow(
        self,
        worker: Worker,
        meter: Meter,
        pipeline: _Pipeline,
        names: Mapping[str, str],
        count: Callable[[], float],
    ) -> dict[str, float]:
        costs = []
        answer = worker.rest.create({**pipeline.config, **names})
        assert answer.status == 201, answer.text
        looks = itertools.count()

        def is_alive() -> bool:
            return next(looks) % _LOOKS > 0 or "FAILED" not in worker.rest.states(names["name"])

        progress = follow(count, self.count, is_alive, lambda: costs.append(meter.refreshed().cpu))
        flowed = (progress.count - progress.first_count) / 1e6
        cpu = (meter.refreshed().cpu - costs[0]) / flowed
        worker.rest.call("DELETE", f"/connectors/{names['name']}")
        return {f"{pipeline.name} rate": progress.rate, f"{pipeline.name} cpu": cpu}

    def _fill(self) -> None:
        producer = Producer({"bootstrap.servers": self.bench.broker.bootstrap_servers, "linger.ms": 20})
        for block in lines(self.count):
            texts = enumerate(block.decode().splitlines())
            produce(producer, self.topic, [json.dumps(_object(number, line)).encode() for number, line in texts])
        assert producer.flush(60) == 0

    def close(self) -> None:
        """Remove the topic."""
        self.bench.topics.delete([self.topic])


def _object(number: int, line: str) -> dict[str, Any]:
    return {"line": line, "n": number, "inner": {"flag": True}}


def _chain(steps: tuple[Mapping[str, str], ...]) -> dict[str, str]:
    return transforms(**{f"t{number}": step for number, step in enumerate(steps)}) if steps else {}


def patiently(count: Callable[[], float]) -> Callable[[], float]:
    """Return a count that is zero until the broker knows the new topic."""

    def counted() -> float:
        try:
            return count()
        except KafkaException:
            return 0

    return counted


class Lines:
    """Counts the lines of a growing file, reading each part of it once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = self._count = 0

    def __call__(self) -> float:
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                part = file.read()
        except FileNotFoundError:
            return 0
        self._place += len(part)
        self._count += part.count(b"\n")
        return self._count
