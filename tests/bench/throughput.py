"""Cases a to d: the throughput of one task, and its costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.bench.bench import Bench, running
from tests.bench.meter import Cost, Meter
from tests.bench.result import Metric, Result
from tests.peer.case import SINK_CLASS, SOURCE_CLASS, enveloped, of, struct, transforms
from tests.peer.worker import Worker

LINE_BYTES = 100
_TIMEOUT = 600.0
_POLL = 0.01
_ASK_EVERY = 2.0
_MEMORY_GOAL = 250.0
CHAIN = transforms(
    hoist={"type": "HoistField$Value", "field": "line"},
    insert={"type": "InsertField$Value", "static.field": "source", "static.value": "bench"},
    mask={"type": "MaskField$Value", "fields": "source"},
)
EXTRACT = transforms(extract={"type": "ExtractField$Value", "field": "line"})


@dataclass(frozen=True)
class Throughput:
    """One of the cases: a file source or a file sink, with text or JSON.

    `around` are the bytes before and after the line in a sink's records that are neither.
    """

    case: str
    title: str
    is_source: bool
    is_text: bool
    config: Mapping[str, str]
    goal: float
    cpu_goal: float | None = None
    around: tuple[bytes, bytes] | None = None


CASES = (
    Throughput("a", "FileStreamSource, String", True, True, {}, goal=3.5, cpu_goal=4.0),
    Throughput("b", "FileStreamSource, three transformations, Json with schemas", True, False, CHAIN, goal=3.0),
    Throughput("c", "FileStreamSink, String", False, True, {}, goal=1.75),
    Throughput("d", "FileStreamSink, Json with schemas, ExtractField", False, False, EXTRACT, goal=2.2),
)


def measure(case: Throughput, bench: Bench) -> Result:
    """Run one case in alternating pairs."""
    result = Result(case.case, f"{case.title}, {bench.records:,} lines of {LINE_BYTES} bytes", metrics(case))
    world = Source(bench, case) if case.is_source else Sink(bench, case)
    for pair, side in bench.runs():
        worker = bench.worker(side, strings=case.is_text)
        values = world.run(worker)
        result.add(side, **values)
        bench.say(f"{case.case} {pair}/{bench.pairs} {side}: {values['rate']:,.0f} records/s")
    world.close()
    if "hearth" in world.at_peak:
        result.notes.append(f"Hearth's memory at its peak: {', '.join(world.at_peak['hearth'])}")
    return result


def metrics(case: Throughput) -> tuple[Metric, ...]:
    """Return the metrics of a case."""
    return (
        Metric("rate", "records/s", goal=case.goal, format="{:,.0f}"),
        Metric("cpu", "CPU s per million while they flow", "lower", goal=case.cpu_goal, format="{:.2f}"),
        Metric("cpu_without_jvm", "CPU s per million, without Spark's JVM", "lower", format="{:.2f}"),
        Metric("cpu_with_start", "CPU s per million, start of the task included", "lower", format="{:.2f}"),
        Metric("memory", "peak MB, all processes", "lower", format="{:,.0f}"),
        Metric(
            "memory_without_jvm",
            "peak MB, without Spark's JVM",
            "lower",
            _MEMORY_GOAL,
            absolute=True,
            format="{:,.0f}",
        ),
    )


def lines(count: int) -> Iterator[bytes]:
    """Yield blocks of different lines, each of LINE_BYTES characters and a line end."""
    filling = b"the quick brown fox jumps over the lazy dog " * 3
    template = b"%012d " + filling[: LINE_BYTES - 13] + b"\n"
    for start in range(0, count, 10_000):
        yield b"".join(template % number for number in range(start, min(start + 10_000, count)))


def write_lines(path: Path, count: int) -> None:
    """Write a file of lines, once."""
    if not path.exists():
        with path.open("wb") as file:
            file.writelines(lines(count))


@dataclass
class Progress:
    """The moments of the first and the last record, and how many records the first look found."""

    first: float
    first_count: float
    last: float
    count: float

    @property
    def rate(self) -> float:
        """Return records a second between the first and the last look."""
        return (self.count - self.first_count) / (self.last - self.first)


def follow(
    count: Callable[[], float], wanted: float, is_alive: Callable[[], bool], on_first: Callable[[], object]
) -> Progress:
    """Watch a count grow from zero to ``wanted``, and report when it starts to grow."""
    deadline = time.monotonic() + _TIMEOUT
    first = first_count = 0.0
    while True:
        seen, now = count(), time.monotonic()
        if seen and not first:
            first, first_count = now, seen
            on_first()
        if seen >= wanted:
            return Progress(first, first_count, now, seen)
        if now > deadline or not is_alive():
            raise AssertionError(f"stopped at {seen:,.0f} of {wanted:,.0f}")
        time.sleep(_POLL)


class Liveness:
    """Tells whether a connector runs; asks its worker only now and then, because each query distorts a measurement."""

    def __init__(self, worker: Worker, name: str) -> None:
        self._worker, self._name = worker, name
        self._ask_again = 0.0

    def __call__(self) -> bool:
        """Return whether the worker runs and nothing of the connector has failed, as far as known."""
        now = time.monotonic()
        if now < self._ask_again:
            return True
        self._ask_again = now + _ASK_EVERY
        return self._worker.is_running and "FAILED" not in self._worker.rest.states(self._name)


class _World:
    """The common part of both kinds of cases: runs a connector and divides its costs by the records."""

    def __init__(self, bench: Bench, case: Throughput) -> None:
        self.bench = bench
        self.case = case
        self.at_peak: dict[str, list[str]] = {}

    def _measure(self, worker: Worker, config: dict[str, str], count: Callable[[], float]) -> dict[str, float]:
        """Run a connector from its creation to its last record and return the figures."""
        with running(worker) as meter:
            costs = [meter.refreshed()]
            answer = worker.rest.create(config)
            assert answer.status == 201, answer.text
            is_alive = Liveness(worker, config["name"])
            try:
                progress = follow(count, self.bench.records, is_alive, lambda: costs.append(meter.refreshed()))
            except AssertionError as error:
                status = worker.rest.status(config["name"])
                raise AssertionError(f"{worker.side} {error}: {status}\n{worker.last_words()}") from error
            costs.append(meter.refreshed())
        self.at_peak[worker.side] = meter.at_peak
        return {"rate": progress.rate, **_cpu(worker.side, costs, progress), **_memory(worker.side, meter)}


def _cpu(side: str, costs: Sequence[Cost], progress: Progress) -> dict[str, float]:
    """Return CPU seconds per million records: between the first and the last look, and from the creation on."""
    created, first, last = costs
    flowed = (progress.count - progress.first_count) / 1e6
    cpu, jvm = last.cpu - first.cpu, last.cpu_jvm - first.cpu_jvm
    return {
        "cpu": cpu / flowed,
        "cpu_without_jvm": (cpu if side == "java" else cpu - jvm) / flowed,
        "cpu_with_start": (last.cpu - created.cpu) / progress.count * 1e6,
    }


def _memory(side: str, meter: Meter) -> dict[str, float]:
    """Return the peaks of the run in MB."""
    own = meter.peak if side == "java" else meter.peak_without_jvm
    return {"memory": meter.peak / 1e6, "memory_without_jvm": own / 1e6}


class Source(_World):
    """Reads one file of lines into a new topic."""

    def __init__(self, bench: Bench, case: Throughput) -> None:
        super().__init__(bench, case)
        self.file = bench.folder / f"lines-{bench.records}.txt"
        write_lines(self.file, bench.records)

    def run(self, worker: Worker) -> dict[str, float]:
        """Run once."""
        topic = self.bench.fresh(f"bench-{self.case.case}")
        self.bench.topics.create(topic)
        config = {
            "name": topic,
            "connector.class": SOURCE_CLASS,
            "file": str(self.file),
            "topic": topic,
            **self.case.config,
        }
        try:
            with self.bench.topics.watched(topic) as count:
                return self._measure(worker, config, count)
        finally:
            self.bench.topics.delete([topic])

    def close(self) -> None:
        """Keep the file: the other source case reads it as well."""


class Sink(_World):
    """Writes a prefilled topic to a new file."""

    def __init__(self, bench: Bench, case: Throughput, partitions: int = 1) -> None:
        super().__init__(bench, case)
        self.topic = bench.fresh(f"bench-{case.case}")
        bench.topics.create(self.topic, partitions)
        bench.say(f"{case.case}: filling {self.topic}")
        fill(bench, self.topic, case.around or ((b"", b"") if case.is_text else _envelope()))

    def run(self, worker: Worker) -> dict[str, float]:
        """Run once."""
        name = self.bench.fresh("sink")
        file = self.bench.folder / f"{name}.txt"
        config = {
            "name": name,
            "connector.class": SINK_CLASS,
            "file": str(file),
            "topics": self.topic,
            **self.case.config,
        }
        try:
            return self._measure(worker, config, lambda: _size(file) / (LINE_BYTES + 1))
        finally:
            file.unlink(missing_ok=True)
            self.bench.topics.delete_groups([f"connect-{name}"])

    def close(self) -> None:
        """Remove the topic."""
        self.bench.topics.delete([self.topic])


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def fill(bench: Bench, topic: str, around: tuple[bytes, bytes]) -> None:
    """Fill a topic with the lines, each with bytes before and after it."""
    settings = {"linger.ms": 20, "batch.size": 500_000, "queue.buffering.max.messages": 200_000}
    producer = Producer({"bootstrap.servers": bench.broker.bootstrap_servers, **settings})
    head, tail = around
    for block in lines(bench.records):
        produce(producer, topic, [head + line + tail for line in block.splitlines()])
    assert producer.flush(60) == 0
    assert bench.topics.count(topic) == bench.records


def _envelope() -> tuple[bytes, bytes]:
    """Return the bytes before and after the line in a JSON value with its schema."""
    schema = struct(of("string", "line", optional=False), of("string", "source"))
    head, tail = enveloped(schema, {"line": "|", "source": ""}).split(b"|")
    return head, tail


def produce(producer: Any, topic: str, values: Sequence[bytes]) -> None:
    """Produce values in order, waiting while the producer's queue is full."""
    messages = [{"value": value} for value in values]
    while producer.produce_batch(topic, messages) < len(messages):
        messages = [{"value": message["value"]} for message in messages if message.get("_error")]
        producer.poll(0.1)
    producer.poll(0)
