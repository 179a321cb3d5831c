"""Case dirty: real-world data, in its own rows; `dirty:NAME` runs a single row or a group of rows.

Optional members, changing schemas, messages that fail in the converter or a transformation, alternating topics,
headers. The outputs of both sides are compared, so a row that is fast and wrong is an error.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from confluent_kafka import Producer

from tests.bench import dirty_data as data
from tests.bench.bench import Bench, running
from tests.bench.dirty_format import FORMATS, PROTOBUF, Format, formats
from tests.bench.meter import Meter
from tests.bench.result import Metric, Result
from tests.bench.transformation import Lines, patiently
from tests.peer.case import SINK_CLASS, SOURCE_CLASS, converter, predicates, transforms
from tests.peer.worker import Worker

SHARE = 20
"""The number of records of cases a to d is divided by this for each row."""
_LIMIT = 90.0  # seconds; a slower run is measured up to that moment
_LARGEST = 6_000_000
"""The largest message of a topic, in bytes."""
_POLL = 0.005
_ASK_EVERY = 2.0
_TOLERATED = {"errors.tolerance": "all"}
_LOGGED = {**_TOLERATED, "errors.log.enable": "true", "errors.log.include.messages": "true"}
"""Log lines with records all differ, and Hearth writes them all, as Java does."""
_PLAIN = converter("value", "json", schemas_enable=False)
_DEAD = {
    **_TOLERATED,
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}
_CAST = {**_TOLERATED, **transforms(cast={"type": "Cast$Value", "spec": "n:int32"})}
_CAST_LINES = {**_TOLERATED, **transforms(cast={"type": "Cast$Value", "spec": "int32"})}
_RESHAPE = transforms(
    replace={"type": "ReplaceField$Value", "exclude": "note", "renames": "name:title,city:place"},
    insert={"type": "InsertField$Value", "static.field": "origin", "static.value": "bench"},
)
_OWN_WORDS = ("__connect.errors.connector.name", "__connect.errors.exception.stacktrace")
"""Headers of a dead letter that identify the run or the program."""


@dataclass(frozen=True)
class Row:
    """Messages, and the connector that moves them; `goal` is a multiple of Java's rate.

    Messages alternate among ``topics`` topics. With `is_source` they are the lines of a file. With a `format`, JSON
    with schemas is Java's side alone: Hearth reads the same records in that format.
    """

    name: str
    group: str
    title: str
    messages: data.Messages
    goal: float = 1.0
    config: Mapping[str, str] = field(default_factory=lambda: _PLAIN)
    topics: int = 1
    is_source: bool = False
    format: str = ""

    @property
    def has_dead_letters(self) -> bool:
        """Return whether failed records go to a topic."""
        return _DEAD.items() <= self.config.items()

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Return the lines of the table."""
        return (
            Metric(f"{self.name} rate", f"{self.name}: {self.title}, records/s", goal=self.goal, format="{:,.0f}"),
            Metric(f"{self.name} cpu", f"{self.name}, CPU µs a record", "lower", format="{:.2f}"),
            Metric(f"{self.name} memory", f"{self.name}, peak MB without Spark's JVM", "lower", format="{:,.0f}"),
        )


def _rows() -> Iterator[Row]:
    """Yield the rows."""
    yield Row("members-1", "shapes", "eight members, always there", data.members(), 1.5)
    for share in (0.99, 0.8, 0.5):
        yield Row(f"members-{share}", "shapes", f"each there with {share}", data.members(share), 1.5)
    yield Row("reshaped", "shapes", "0.8, ReplaceField, InsertField", data.members(0.8), 1.5, {**_PLAIN, **_RESHAPE})
    yield Row("nested", "shapes", "lists, maps, varying lengths and types", data.nested, 1.5)
    yield Row("shapes-50", "shapes", "1 to 50 members, fifty shapes in turn", data.shapes, 1.5)
    with_schemas = converter("value", "json", schemas_enable=True)
    for name, title, messages in (
        ("schema-1", "Json with schemas", data.enveloped()),
        ("schema-null", "optional members null", data.enveloped(null=0.2)),
        ("schema-absent", "optional members absent", data.enveloped(absent=0.2)),
        ("schemas-2", "two schemas in turn", data.enveloped(2)),
        ("schemas-10", "ten schemas in turn", data.enveloped(10)),
    ):
        yield Row(name, "schemas", title, messages, 1.5, with_schemas)
    yield from _format_rows(with_schemas)
    for percent in (0.1, 1, 10, 50, 100):
        goal = 2.0 if percent <= 1 else 1.0
        title = f"{percent} % are no JSON, tolerated"
        yield Row(f"bad-{percent}", "bad", title, data.broken(percent / 100), goal, {**_PLAIN, **_TOLERATED})
    for percent in (1, 10):
        title = f"{percent} % are no JSON, tolerated and logged"
        yield Row(f"log-{percent}", "bad", title, data.broken(percent / 100), 1.0, {**_PLAIN, **_LOGGED})
    for percent in (1, 10):
        goal = 2.0 if percent == 1 else 1.0
        title = f"{percent} % are no JSON, into dead letters"
        yield Row(f"dead-{percent}", "dead", title, data.broken(percent / 100), goal, {**_PLAIN, **_DEAD})
    for percent in (1, 5, 50):
        goal = 2.0 if percent == 1 else 1.0
        title = f"{percent} % fail in Cast, tolerated"
        yield Row(f"cast-{percent}", "cast", title, data.numbers(percent / 100), goal, {**_PLAIN, **_CAST})
    for percent in (0, 1, 10):
        goal = 2.0 if percent == 1 else 1.0
        config = {**converter("value", "string"), **_CAST_LINES}
        title = f"source, {percent} % of the lines fail in Cast"
        yield Row(f"lines-{percent}", "source", title, data.lines(percent / 100), goal, config, is_source=True)
    yield Row("tombstones", "filter", "10 % tombstones", data.tombstones(0.1))
    for name, predicate, messages in (
        ("drop-null", {"type": "RecordIsTombstone"}, data.tombstones(0.5, dropped=True)),
        ("drop-header", {"type": "HasHeaderKey", "name": "drop"}, data.marked),
    ):
        steps = transforms(filter={"type": "Filter", "predicate": "p"})
        title = f"{predicate['type']} drops half"
        yield Row(name, "filter", title, messages, 1.0, {**_PLAIN, **steps, **predicates(p=predicate)})
    for topics in (1, 20, 100):
        yield Row(f"topics-{topics}", "topics", f"{topics} topics in turn", data.members(), topics=topics)
    strings = converter("value", "string")
    for name, title, messages in (
        ("size-10", "texts of 10 bytes", data.sized(10, 1)),
        ("size-1k", "texts of 1 KB", data.sized(1_000, 1)),
        ("size-100k", "texts of 100 KB", data.sized(100_000, 75)),
        ("size-5m", "texts of 5 MB", data.sized(5_000_000, 3_000)),
        ("size-mixed", "texts of 10 bytes to 5 MB, keys of 0 to 1 KB", data.power_law),
    ):
        yield Row(name, "sizes", title, messages, 1.0, {**strings, **converter("key", "string")})
    for kind in (*data.HEADERS, "mixed"):
        yield Row(f"header-{kind}", "headers", f"a header, {kind}", data.headed(kind), 2.0, strings)


def _format_rows(with_schemas: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows of the registry's formats."""
    tolerant = {**with_schemas, **_TOLERATED}
    for form in FORMATS:
        row = partial(Row, group="formats", format=form)
        name = form.lower().replace(" ", "-")
        for number, title in ((2, "two"), (10, "ten")):
            title = f"{form}, {title} schemas in turn"
            yield row(f"{name}-{number}", title=title, messages=data.enveloped(number), goal=1.5, config=with_schemas)
        if form != PROTOBUF:  # a Protobuf field of this kind has no null
            title, messages = f"{form}, optional members null", data.enveloped(null=0.2)
            yield row(f"{name}-null", title=title, messages=messages, goal=1.5, config=with_schemas)
        for percent, goal in ((1, 2.0), (10, 1.0)):
            title, messages = f"{form}, {percent} % fail, tolerated", data.broken(percent / 100, data.enveloped())
            yield row(f"{name}-bad-{percent}", title=title, messages=messages, goal=goal, config=tolerant)


ROWS = tuple(_rows())


def measure(rows: Sequence[Row], bench: Bench) -> Result:
    """Run the rows of a side in one worker; the sides alternate; the worst row comes first."""
    count = bench.records // SHARE
    result = Result("dirty", f"data as the world has it, {count:,} records", [])
    outputs: dict[str, set[str]] = {row.name: set() for row in rows}
    with ExitStack() as stack:
        known = stack.enter_context(formats())
        worlds: dict[tuple[str, str], World] = {}
        for row in rows:
            for side in bench.sides:
                form = known.get(row.format) if side == "hearth" else None
                if form is None and (row.name, bench.sides[0]) in worlds:
                    worlds[row.name, side] = worlds[row.name, bench.sides[0]]
                    continue
                worlds[row.name, side] = world = World(bench, row, count, form)
                stack.callback(world.close)
        for pair, side in bench.runs():
            worker = bench.worker(side, strings=False)
            with running(worker) as meter:
                # Warm up: the first row would find a cold JVM, the others a warm one.
                worlds[rows[0].name, side].run(worker, meter)
                for row in rows:
                    run = worlds[row.name, side].run(worker, meter)
                    rate, cpu, memory = (metric.name for metric in row.metrics)
                    result.add(side, **{rate: run.rate, cpu: run.cpu, memory: run.memory})
                    outputs[row.name] |= {run.output} if run.output else set()
                    result.notes += [f"{row.name}, {side}: {run.trouble}"] if run.trouble else []
                    summary = f"{run.rate:,.0f} records/s, {run.cpu:.2f} µs, {run.memory:,.0f} MB {run.trouble}"
                    bench.say(f"dirty {pair}/{bench.pairs} {side} {row.name}: {summary}")
    result.notes += [f"ERROR: {name}: outputs differ" for name, found in outputs.items() if len(found) > 1]
    result.metrics = [metric for row in sorted(rows, key=partial(_ratio, result)) for metric in row.metrics]
    return result


def _ratio(result: Result, row: Row) -> float:
    ratio = result.ratio(row.metrics[0])
    return math.inf if ratio is None else ratio


@dataclass(frozen=True)
class Run:
    """Records a second, CPU microseconds a record, MB, a digest of the output, and the error of a run."""

    rate: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0
    output: str = ""
    trouble: str = ""


class World:
    """The input of a row's runs, topics or a file, and their outputs."""

    def __init__(self, bench: Bench, row: Row, count: int, form: Format | None = None) -> None:
        """Produce or write the input, in the format if there is one."""
        self._bench = bench
        self._format = form
        self._row = row
        self._count = count
        self._made = self._wanted = 0
        self._file = bench.folder / f"{bench.fresh('dirty')}.txt"
        self._topics = [] if row.is_source else [bench.fresh(f"dirty-{row.name}") for _ in range(row.topics)]
        bench.say(f"dirty: filling {row.name}")
        for topic in self._topics:
            bench.topics.create(topic, settings={"max.message.bytes": str(_LARGEST)})
        if row.is_source:
            with self._file.open("wb") as file:
                file.writelines((message.value or b"") + b"\n" for message in self._messages())
        else:
            self._produce()

    def run(self, worker: Worker, meter: Meter) -> Run:
        """Run once, into a new file, a new topic or both."""
        name, row = self._bench.fresh("dirty"), self._row
        file = self._bench.folder / f"{name}.txt"
        config = {"name": name, **row.config}
        if self._format is not None:
            del config["value.converter.schemas.enable"]
            config |= self._format.config
        with ExitStack() as stack:
            counts: list[Callable[[], float]] = []
            if row.is_source or row.has_dead_letters:
                self._bench.topics.create(name)
                stack.callback(self._bench.topics.delete, [name])
                counts.append(patiently(stack.enter_context(self._bench.topics.watched(name))))
            if row.is_source:
                config |= {"connector.class": SOURCE_CLASS, "file": str(self._file), "topic": name}
            else:
                config |= {"connector.class": SINK_CLASS, "file": str(file), "topics": ",".join(self._topics)}
                stack.callback(self._bench.topics.delete_groups, [f"connect-{name}"])
                stack.callback(file.unlink, missing_ok=True)
                counts.append(Lines(file))
            if row.has_dead_letters:
                config["errors.deadletterqueue.topic.name"] = name
            run = self._follow(worker, meter, config, lambda: sum(count() for count in counts))
            return run if run.trouble else replace(run, output=self._output(file, name))

    def close(self) -> None:
        """Remove the input."""
        self._bench.topics.delete(self._topics)
        self._file.unlink(missing_ok=True)

    def _follow(self, worker: Worker, meter: Meter, config: dict[str, str], count: Callable[[], float]) -> Run:
        """Run a connector until everything has arrived, it fails, or the time is over."""
        name, trouble = config["name"], ""
        meter.peak = meter.peak_without_jvm = 0
        answer = worker.rest.create(config)
        assert answer.status == 201, answer.text
        # Records found at the first look arrived before the clock started, so they do not count.
        first = _Look(time.monotonic(), count(), meter.refreshed().cpu)
        deadline, ask_again = first.time + _LIMIT, first.time + _ASK_EVERY
        while True:
            last = _Look(time.monotonic(), count(), 0.0)
            if not first.count:
                first = replace(last, cpu=meter.refreshed().cpu)
            if last.count >= self._wanted:
                break
            if last.time > ask_again:
                ask_again = last.time + _ASK_EVERY
                trouble = "failed" if "FAILED" in worker.rest.states(name) else ""
            if trouble or last.time > deadline:
                trouble = f"{trouble or 'stopped'} at {last.count:,.0f} of {self._wanted:,}"
                break
            time.sleep(_POLL)
        cpu = meter.refreshed().cpu - first.cpu
        worker.delete(name)
        flowed = (last.count - first.count) * self._made / self._wanted
        memory = meter.peak if worker.side == "java" else meter.peak_without_jvm
        if not flowed:
            return Run(memory=memory / 1e6, trouble=trouble or "all records had arrived at the first look: too few")
        return Run(flowed / (last.time - first.time), cpu / flowed * 1e6, memory / 1e6, trouble=trouble)

    def _output(self, file: Path, topic: str) -> str:
        """Return a digest of a run's output; records of several topics are sorted."""
        digest = hashlib.sha256()
        if not self._row.is_source:
            written = file.read_bytes().splitlines()
            digest.update(b"\n".join(sorted(written) if self._row.topics > 1 else written))
        if self._row.is_source or self._row.has_dead_letters:
            for record in self._bench.topics.read(topic):
                headers = [each for each in record.headers if each[0] not in _OWN_WORDS]
                digest.update(repr((record.key, record.value, headers)).encode())
        return digest.hexdigest()

    def _messages(self) -> Iterator[data.Message]:
        """Yield the row's messages and count those that arrive."""
        for message in self._row.messages(self._count):
            self._made += 1
            self._wanted += message.arrives or self._row.has_dead_letters
            yield message

    def _produce(self) -> None:
        settings = {"bootstrap.servers": self._bench.broker.bootstrap_servers, "linger.ms": 20}
        producer = Producer({**settings, "message.max.bytes": _LARGEST})
        messages = self._messages()
        if self._format is not None:
            messages = self._format.messages(self._topics[0], messages)
        for topic, message in zip(itertools.cycle(self._topics), messages):
            while True:
                try:
                    producer.produce(topic, message.value, message.key, headers=list(message.headers))
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0


@dataclass(frozen=True)
class _Look:
    """The number of arrived records, with the time and the CPU used so far."""

    time: float
    count: float
    cpu: float


def _cases() -> dict[str, Callable[[Bench], Result]]:
    """Return cases for all rows together, for each group and for each row."""
    groups: dict[str, list[Row]] = {}
    for row in ROWS:
        for name in ("dirty", f"dirty:{row.group}", f"dirty:{row.name}"):
            groups.setdefault(name, []).append(row)
    return {name: partial(measure, rows) for name, rows in groups.items()}


CASES = _cases()
