"""A trial: a ledger sink and a ledger source on a worker with its own broker, under the acts of a seed."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from hearth.broker import KafkaBroker
from hearth.storage.file import FileOffsetStore
from tests.crash.act import Act, faults, kills, operator_acts
from tests.crash.actor import Fate, Journal, Killer, Operator, Watchman, carry_out, repeat
from tests.crash.arrival import Books
from tests.crash.judged_connector import JudgedConnectors
from tests.crash.verdict import Verdict
from tests.peer.topic import Topics
from tests.peer.worker import Worker
from tests.reservation import reserve_port

STRING = "org.apache.kafka.connect.storage.StringConverter"
PARTITIONS = 3
SOURCE_PARTITIONS = 4
_WATCH_EVERY = 0.5
_DRAIN = 90.0
_ANSWER = 30.0
"""How long the operator waits for a response; Java's tasks in an endless rebalance delay it."""

SETTINGS = {
    "offset.flush.interval.ms": "500",
    "key.converter": STRING,
    "value.converter": STRING,
    "consumer.metadata.max.age.ms": "2000",
    "connector.client.config.override.policy": "All",
}


@dataclass(frozen=True)
class Plan:
    """The parameters of a trial."""

    seed: int
    seconds: float
    rate: int = 4500
    longest_timeout_ms: int = 5000
    longest_stop: float = 8.0
    broker_session_ms: int = 60_000
    """A broker that is suspended for longer is fenced when it resumes; Kafka's default is 9 seconds."""

    @property
    def has_batches(self) -> bool:
        """Return whether the sink takes batches, if the side supports them; each behaviour comes with and without."""
        return (self.seed + self.seed // 4) % 2 == 1

    def manner(self) -> dict[str, str]:
        """Return the sink's behaviour: each seed has its own mixture."""
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
    """The outcome of a trial on one side."""

    side: str
    plan: Plan
    sink: Verdict
    source: Verdict
    failures: list[str]
    journal: Path

    def __str__(self) -> str:
        """Summarize it in a few lines."""
        failed_tasks = "".join(f"\n  failed: {each}" for each in self.failures[:5])
        return (
            f"{self.side}, seed {self.plan.seed}, {self.plan.seconds:g} s, {self.plan.manner()}\n"
            f" sink: {self.sink}\n source: {self.source}\n {len(self.failures)} failures of tasks{failed_tasks}"
        )


MakeWorker = Callable[[Path, str, Mapping[str, str]], Worker]


class Trial:
    """One side's worker, broker and connectors, and the acts on them."""

    def __init__(self, plan: Plan, folder: Path, broker: KafkaBroker, make: MakeWorker) -> None:
        self.plan, self._broker = plan, broker
        self._folder = folder
        name = f"trial-{uuid.uuid4().hex[:8]}"
        places = (PARTITIONS, SOURCE_PARTITIONS)
        self._numbers = JudgedConnectors(folder, broker.bootstrap_servers, name, places, plan.rate, tasks=2)
        self.worker = make(folder, broker.bootstrap_servers, SETTINGS)
        self.worker.rest.timeout = _ANSWER
        self._stop = threading.Event()

    def run(self) -> Outcome:
        """Run the trial and judge."""
        plan, numbers = self.plan, self._numbers
        with ExitStack() as stack:
            self._journal = stack.enter_context(closing(Journal(self._folder / "journal.txt")))
            stack.enter_context(numbers.judged(self._stored, self._journal))
            stack.enter_context(self.worker)
            stack.callback(self._keep_last_words)
            in_batches = self.worker.side == "hearth" and plan.has_batches
            configs = {"sink": numbers.sink(plan.manner(), in_batches), "source": numbers.source(plan.seed)}
            for config in configs.values():
                self.worker.run(config, 120)
            watchman = Watchman(self.worker, [config["name"] for config in configs.values()], self._journal)
            operator = Operator(self.worker, configs, self._journal)
            self._disturb(operator, watchman)
            self._drain(operator, watchman)
            verdicts = numbers.conclude()
            return Outcome(
                self.worker.side, plan, *verdicts, failures=watchman.failures, journal=self._folder / "journal.txt"
            )

    def _keep_last_words(self) -> None:
        (self._folder / "last-words.txt").write_text(self.worker.last_words())

    def _disturb(self, operator: Operator, watchman: Watchman) -> None:
        """Let records flow and execute all acts, the operator's and the faults in parallel."""
        plan, fate = self.plan, Fate(self._broker, self._numbers.unwell, self._journal)
        self._numbers.flow.start()
        started, over = time.monotonic(), threading.Event()

        def lane(acts: list[Act], do: Callable[[Act], None]) -> None:
            carry_out(acts, do, over, started)

        with self._numbers.looking(), ThreadPoolExecutor(4) as lanes:
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
        """Let everything arrive; if records are lost, wait until everything is committed."""
        self._numbers.flow.finish()
        operator.heal()
        end = time.monotonic() + _DRAIN
        with self._numbers.looking():
            while time.monotonic() < end and not self._is_through():
                watchman.look()
                time.sleep(_WATCH_EVERY)
        self._numbers.await_look()
        self._journal.note("drained")
        for target in ("sink", "source"):
            operator.remove(target)
        self._numbers.await_look()

    def _is_through(self) -> bool:
        produced, judge = self._numbers.flow.produced, self._numbers.sink_judge
        if judge.has_all(produced):
            return True
        with suppress(KafkaException):
            return judge.committed() == produced
        return False

    def _add_partition(self) -> None:
        numbers = self._numbers
        count = numbers.sink_judge.partitions + 1
        fresh = Topics(self._broker.bootstrap_servers)  # a client that no fenced broker has confused
        fresh.widen(numbers.name, count)
        numbers.sink_judge.partitions = count
        numbers.flow.widen(count)

    def _stages(self) -> Mapping[str, Callable[[], list[int]]]:
        def living(target: str) -> Callable[[], list[int]]:
            books = Books(self._numbers.books, f"{self._numbers.name}-{target}")

            def processes() -> list[int]:
                books.read()
                return books.living()

            return processes

        return {target: living(target) for target in ("sink", "source")}

    def _stored(self) -> dict[int, int]:
        """Return the stored positions of the source; none if the file is not Hearth's."""
        if self.worker.side != "hearth":
            return {}
        partitions: list[dict[str, Any]] = [{"ledger": number} for number in range(SOURCE_PARTITIONS)]
        offsets = FileOffsetStore(self._folder / "connect.offsets").get(f"{self._numbers.name}-source", partitions)
        return {number: int(each["next"]) for number, each in enumerate(offsets) if each}


def run_trial(plan: Plan, folder: Path, make: MakeWorker) -> Outcome:
    """Run a trial with its own broker."""
    settings = {"broker.session.timeout.ms": str(plan.broker_session_ms)}
    described = KafkaBroker(folder / "broker", reserve_port(), retention_bytes=256 << 20, settings=settings)
    with described as broker:
        return Trial(plan, folder / "side", broker, make).run()


def _word(value: bool) -> str:
    return str(value).lower()
