"""Everything of a cluster but its broker is killed and suspended at random, and no record is lost."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException

from hearth.broker import KafkaBroker
from tests.bench.cluster import SparkCluster
from tests.bundles.build import plugin_path
from tests.crash.actor import Journal
from tests.crash.arrival import Tail
from tests.crash.chaos import Chaos
from tests.crash.judged_connector import JudgedConnectors
from tests.crash.kept_host import KeptHost
from tests.crash.verdict import Verdict
from tests.timeouts import eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"
GROUP = "chaos"
SETTINGS = {
    "key.converter": STRING,
    "value.converter": STRING,
    "offset.flush.interval.ms": "300",
    "errors.task.restart.max": "-1",  # the stage process of a task may be killed as well
    "errors.task.restart.backoff.ms": "200",
    "errors.task.restart.backoff.max.ms": "5000",
}
EXACTLY_ONCE = {"exactly.once.source.support": "enabled"}
HOSTS, WORKERS, TASKS, ACTS = 3, 2, 4, 50
MOST_SILENCES = 12
RATE, SHORT_RATE = 1000, 200
FLOWS_SECONDS = 120.0


class StoredPositions:
    """The positions of a source's partitions in its cluster's offset topic."""

    def __init__(self, servers: str, connector: str) -> None:
        self._connector = connector
        self._found: dict[int, int] = {}
        self._tail = Tail(servers, f"{GROUP}-offsets", 5, "read_committed")

    def __call__(self) -> dict[int, int]:
        """Return the committed positions."""
        try:
            self._tail.read(self._take)
        except KafkaException:
            self._tail.renew()
            raise
        return dict(self._found)

    def close(self) -> None:
        """Close the client."""
        self._tail.close()

    def _take(self, message: Any) -> None:
        connector, partition = json.loads(message.key())
        if connector == self._connector:
            self._found[partition["ledger"]] = json.loads(message.value())["next"]


@dataclass(frozen=True)
class Outcome:
    """The verdicts of one run."""

    sink: Verdict
    source: Verdict
    is_exact: bool
    journal: Journal

    def prove(self) -> None:
        """Check every promise, and print the journal and the verdicts."""
        summary = f"{self.journal.text()}\nsink: {self.sink}\nsource: {self.source}"
        print(summary)
        assert self.sink.is_sound, summary
        assert self.source.is_sound, summary
        if self.is_exact:
            assert self.source.repeats + self.source.repeats_due == 0, summary


class Cluster:
    """Hosts with a source and a sink, on a Spark cluster or each with a local Spark."""

    def __init__(
        self,
        folder: Path,
        broker: KafkaBroker,
        settings: dict[str, str],
        spark: SparkCluster | None,
        size: int = HOSTS,
    ) -> None:
        rate = RATE if spark is not None else SHORT_RATE
        servers = broker.bootstrap_servers
        own = {**SETTINGS, **settings, "plugin.path": str(plugin_path("ledger"))}
        own |= {} if spark is None else spark.settings()
        self.hosts = [KeptHost(folder / f"host-{each}", servers, GROUP, own) for each in range(size)]
        self.numbers = JudgedConnectors(folder, servers, "ledger", (TASKS, TASKS), rate, TASKS)
        self._servers, self._is_exact = servers, EXACTLY_ONCE.items() <= settings.items()

    @contextmanager
    def running(self, journal: Journal) -> Iterator[None]:
        """Start hosts, connectors, records and judges."""
        numbers = self.numbers
        with ExitStack() as stack:
            for host in self.hosts:
                stack.callback(host.stop)
                host.start()
            stored = stack.enter_context(closing(StoredPositions(self._servers, f"{numbers.name}-source")))
            isolation = "read_committed" if self._is_exact else "read_uncommitted"
            stack.enter_context(numbers.judged(stored, journal, isolation))
            for config in (numbers.sink({"ledger.seed": "1"}), numbers.source(1)):
                assert self.hosts[-1].rest.create(config).status == 201
            numbers.flow.start()
            yield

    def under(self, acts: Iterable[Callable[[], None]], chance: random.Random, journal: Journal) -> Outcome:
        """Execute acts while records flow, wait until everything has arrived, and judge."""
        numbers = self.numbers
        with self.running(journal), numbers.looking():
            assert self.flows(), journal.text()
            since = time.time()
            for act in acts:
                act()
                if chance.random() < 0.6:
                    assert self.flows(), journal.text()
            numbers.flow.finish()
            assert eventually(lambda: numbers.sink_judge.has_all(numbers.flow.produced), FLOWS_SECONDS), journal.text()
            numbers.await_look()
            sink, source = numbers.conclude()
        paces = {"sink": numbers.sink_judge.pace, "source": numbers.source_judge.pace}
        for name, pace in paces.items():
            for seconds, moment, place in pace.longest(since)[:MOST_SILENCES]:
                journal.note(f"{name}: nothing new in {place} for {seconds:.1f} s, until {clock(moment)}")
        return Outcome(sink, source, self._is_exact, journal)

    def flows(self) -> bool:
        """Wait until the records of this moment have arrived and new ones have been generated."""
        numbers = self.numbers
        produced, made = dict(numbers.flow.produced), numbers.source_judge.reaches()
        return eventually(
            lambda: (
                numbers.sink_judge.has_all(produced)
                and all(reach > made.get(place, 0) for place, reach in numbers.source_judge.reaches().items())
                and len(numbers.source_judge.reaches()) == TASKS
            ),
            FLOWS_SECONDS,
        )


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, EXACTLY_ONCE], ids=["at least once", "exactly once"])
def test_nothing_is_lost_whatever_is_killed_or_stopped(
    settings: dict[str, str], tmp_path: Path, own_broker: KafkaBroker
) -> None:
    """Four source and four sink tasks: everything arrives in order; repeats are counted and reported.

    An exactly-once source writes each record once to its topic.
    """
    acts = int(os.environ.get("HEARTH_CHAOS_ACTS", ACTS))
    with SparkCluster(tmp_path / "spark", WORKERS) as spark, closing(Journal(tmp_path / "journal.txt")) as journal:
        cluster = Cluster(tmp_path, own_broker, settings, spark)
        chance = random.Random(int(os.environ.get("HEARTH_CHAOS", "1")))
        chaos = Chaos(cluster.hosts, spark, chance, journal)
        outcome = cluster.under([chaos.act] * acts, chance, journal)
    outcome.prove()


@pytest.mark.long
def test_nothing_is_lost_in_a_few_faults(tmp_path: Path, broker: KafkaBroker) -> None:
    """The short form: two hosts, each with a local Spark and an exactly-once source.

    Without ``--long``, ``test_distributed`` kills the leading host, ``test_exactly_once`` processes of a source, and
    ``test_soak`` one host and everything below it.
    """
    with closing(Journal(tmp_path / "journal.txt")) as journal:
        cluster = Cluster(tmp_path, broker, EXACTLY_ONCE, None, size=2)
        chance = random.Random()
        chaos = Chaos(cluster.hosts, None, chance, journal)
        outcome = cluster.under([chaos.kill_process, chaos.kill_process, chaos.kill_first_host], chance, journal)
    outcome.prove()


def clock(moment: float) -> str:
    """Return a moment in the journal's format."""
    return time.strftime("%H:%M:%S", time.gmtime(moment))
