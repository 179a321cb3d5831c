"""A trial: a ledger sink and a ledger source on a worker with a broker of its own, under the acts of a seed."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from hearth.broker import KafkaBroker
from hearth.storage.file import FileOffsetStore
from tests.crash.act import Act, faults, kills, operator_acts
from tests.crash.actor import Fate, Journal, Killer, Operator, Watchman, carry_out, repeat
from tests.crash.arrival import Books
from tests.crash.flow import Flow
from tests.crash.verdict import SinkJudge, SourceJudge, Verdict
from tests.peer.rest import eventually
from tests.peer.topic import Topics
from tests.peer.worker import Worker
from tests.reservation import reserve_port

STRING = "org.apache.kafka.connect.storage.StringConverter"
PARTITIONS = 3
SOURCE_PARTITIONS = 4
_LOOK_EVERY = 0.15
_WATCH_EVERY = 0.5
_DRAIN = 90.0
_ANSWER = 30.0
"""How long the operator waits for an answer; Java's tasks in a rebalance that does not end keep it waiting."""

SETTINGS = {
    "offset.flush.interval.ms": "500",
    "key.converter": STRING,
    "value.converter": STRING,
    "consumer.metadata.max.age.ms": "2000",
    "connector.client.config.override.policy": "All",
}


@dataclass(frozen=True)
class Plan:
    """What a trial is to be like."""

    seed: int
    seconds: float
    rate: int = 4500
    longest_timeout_ms: int = 5000
    longest_stop: float = 8.0
    broker_session_ms: int = 60_000
    """A broker that is stopped for longer is fenced when it goes on; Kafka's default is 9 seconds."""

    @property
    def has_batches(self) -> bool:
        """Return whether the sink takes batches, where there is such a thing; each other manner comes with both."""
        return (self.seed + self.seed // 4) % 2 == 1

    def manner(self) -> dict[str, str]:
        """Return how the sink behaves: each seed has its own mixture."""
        chance = random.Random(f"manner {self.seed}")
        return {
            "ledger.lazy": _word(chance.random() < 0.4),
            "ledger.asks": _word(chance.random() < 0.4),
            "ledger.fails": _word(chance.random() < 0.3),
            "ledger.errant": ("never", "put", "flush", "later")[self.seed % 4],
            "ledger.timeout.ms": str(self.longest_timeout_ms),
            "ledger.seed": str(self.seed),
        }


@dataclass(frozen=True)
class Outcome:
    """What came of a trial on one side."""

    side: str
    plan: Plan
    sink: Verdict
    source: Verdict
    failures: list[str]
    journal: Path

    def __str__(self) -> str:
        """Say it in a few lines."""
        told = "".join(f"\n  failed: {each}" for each in self.failures[:5])
        return (
            f"{self.side}, seed {self.plan.seed}, {self.plan.seconds:g} s, {self.plan.manner()}\n"
            f" sink: {self.sink}\n source: {self.source}\n {len(self.failures)} failures of tasks{told}"
        )


MakeWorker = Callable[[Path, str, Mapping[str, str]], Worker]


class Trial:
    """Everything that one side needs, and the acts on it."""

    def __init__(self, plan: Plan, folder: Path, broker: KafkaBroker, make: MakeWorker) -> None:
        self.plan, self._broker = plan, broker
        self._folder = folder
        self._books = folder / "books"
        self._books.mkdir(parents=True)
        self._unwell = folder / "unwell"
        self._name = f"trial-{uuid.uuid4().hex[:8]}"
        self._topics = Topics(broker.bootstrap_servers)
        self.worker = make(folder, broker.bootstrap_servers, SETTINGS)
        self.worker.rest.timeout = _ANSWER
        self._stop = threading.Event()

    def run(self) -> Outcome:
        """Do everything, and judge."""
        for suffix, partitions in (("", PARTITIONS), ("-made", SOURCE_PARTITIONS), ("-letters", 1)):
            self._topics.create(self._name + suffix, partitions)
        with ExitStack() as stack:
            self._journal = stack.enter_context(closing(Journal(self._folder / "journal.txt")))
            self._judge_both(stack)
            stack.enter_context(self.worker)
            stack.callback(self._keep_last_words)
            configs = {"sink": self._sink(), "source": self._source()}
            for config in configs.values():
                self.worker.run(config, 120)
            watchman = Watchman(self.worker, [config["name"] for config in configs.values()], self._journal)
            operator = Operator(self.worker, configs, self._journal)
            self._disturb(operator, watchman)
            self._drain(operator, watchman)
            return Outcome(
                self.worker.side,
                self.plan,
                self._sink_judge.conclude(self._flow.produced),
                self._source_judge.conclude(Books(self._books, f"{self._name}-source")),
                watchman.failures,
                self._folder / "journal.txt",
            )

    def _keep_last_words(self) -> None:
        (self._folder / "last-words.txt").write_text(self.worker.last_words())

    def _judge_both(self, stack: ExitStack) -> None:
        servers = self._broker.bootstrap_servers
        self._flow = Flow(servers, self._name, PARTITIONS, self.plan.rate)
        books = Books(self._books, f"{self._name}-sink")
        letters, made = f"{self._name}-letters", f"{self._name}-made"
        self._sink_judge = SinkJudge(servers, f"{self._name}-sink", self._name, books, letters)
        self._sink_judge.partitions = PARTITIONS
        stack.enter_context(closing(self._sink_judge))
        self._source_judge = SourceJudge(servers, made, SOURCE_PARTITIONS, self._stored)
        stack.enter_context(closing(self._source_judge))

    def _disturb(self, operator: Operator, watchman: Watchman) -> None:
        """Let records flow and do all acts, the operator's and the others beside them."""
        plan, fate = self.plan, Fate(self._broker, self._unwell, self._journal)
        self._flow.start()
        started, over = time.monotonic(), threading.Event()

        def lane(acts: list[Act], do: Callable[[Act], None]) -> None:
            carry_out(acts, do, over, started)

        with self._looking(), ThreadPoolExecutor(4) as lanes:
            futures = [
                lanes.submit(lane, operator_acts(plan.seed, plan.seconds), self._do(operator)),
                lanes.submit(lane, faults(plan.seed, plan.seconds, plan.longest_stop), fate.act),
                lanes.submit(repeat, watchman.look, _WATCH_EVERY, over),
            ]
            if self.worker.side == "hearth":
                killer = Killer(self.worker.pid, self._stages(), self._journal)
                futures.append(lanes.submit(lane, kills(plan.seed, plan.seconds), killer.act))
            try:
                over.wait(plan.seconds)
            finally:
                over.set()
                fate.end()
            self._journal.note("the acts are over")
            for future in futures:
                future.result()

    def _do(self, operator: Operator) -> Callable[[Act], None]:
        def do(act: Act) -> None:
            self._journal.note(str(act))
            if act.kind == "partition":
                self._add_partition()
            else:
                operator.act(act)

        return do

    def _drain(self, operator: Operator, watchman: Watchman) -> None:
        """Let all arrive; where something is lost, wait until everything is committed."""
        self._flow.finish()
        operator.heal()
        end = time.monotonic() + _DRAIN
        with self._looking():
            while time.monotonic() < end and not self._is_through():
                watchman.look()
                time.sleep(_WATCH_EVERY)
        self._await_look()
        self._journal.note("drained")
        for target in ("sink", "source"):
            operator.remove(target)
        self._await_look()

    def _await_look(self) -> None:
        for judge in (self._sink_judge, self._source_judge):
            assert eventually(judge.look, 60, 0.5), f"no look was possible: {judge.silence}"

    def _is_through(self) -> bool:
        produced = self._flow.produced
        if self._sink_judge.has_all(produced):
            return True
        with suppress(KafkaException):
            return self._sink_judge.committed() == produced
        return False

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Look at everything, again and again, until the end of the block."""
        stop = threading.Event()
        with ThreadPoolExecutor(2) as lanes:
            judges = (self._sink_judge, self._source_judge)
            futures = [lanes.submit(repeat, partial(self._look, judge), _LOOK_EVERY, stop) for judge in judges]
            try:
                yield
            finally:
                stop.set()
            for future in futures:
                future.result()

    def _look(self, judge: SinkJudge | SourceJudge) -> None:
        if not judge.look():
            self._journal.note(f"{type(judge).__name__} could not look: {judge.silence}")

    def _add_partition(self) -> None:
        count = self._sink_judge.partitions + 1
        Topics(self._broker.bootstrap_servers).widen(self._name, count)  # a client that no fenced broker has confused
        self._sink_judge.partitions = count
        self._flow.widen(count)

    def _stages(self) -> Mapping[str, Callable[[], list[int]]]:
        def living(target: str) -> Callable[[], list[int]]:
            books = Books(self._books, f"{self._name}-{target}")

            def processes() -> list[int]:
                books.read()
                return books.living()

            return processes

        return {target: living(target) for target in ("sink", "source")}

    def _stored(self) -> dict[int, int]:
        """Return the stored positions of the source; none where the file is not Hearth's."""
        if self.worker.side != "hearth":
            return {}
        partitions: list[dict[str, Any]] = [{"ledger": number} for number in range(SOURCE_PARTITIONS)]
        offsets = FileOffsetStore(self._folder / "connect.offsets").get(f"{self._name}-source", partitions)
        return {number: int(each["next"]) for number, each in enumerate(offsets) if each}

    def _sink(self) -> dict[str, str]:
        form = "Batch" if self.worker.side == "hearth" and self.plan.has_batches else ""
        errors = {
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{self._name}-letters",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
        }
        manner = self.plan.manner()
        return {
            "name": f"{self._name}-sink",
            "connector.class": f"org.example.ledger.Ledger{form}SinkConnector",
            "topics": self._name,
            "tasks.max": "2",
            **self._common(),
            **manner,
            **(errors if manner["ledger.errant"] != "never" else {}),
        }

    def _source(self) -> dict[str, str]:
        return {
            "name": f"{self._name}-source",
            "connector.class": "org.example.ledger.LedgerSourceConnector",
            "topic": f"{self._name}-made",
            "tasks.max": "2",
            "ledger.partitions": str(SOURCE_PARTITIONS),
            "ledger.seed": str(self.plan.seed),
            **self._common(),
        }

    def _common(self) -> dict[str, str]:
        return {"ledger.folder": str(self._books), "ledger.unwell": str(self._unwell)}


def run_trial(plan: Plan, folder: Path, make: MakeWorker) -> Outcome:
    """Run a trial with a broker of its own."""
    settings = {"broker.session.timeout.ms": str(plan.broker_session_ms)}
    described = KafkaBroker(folder / "broker", reserve_port(), retention_bytes=256 << 20, settings=settings)
    with described as broker:
        return Trial(plan, folder / "side", broker, make).run()


def _word(value: bool) -> str:
    return str(value).lower()
