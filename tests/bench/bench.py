"""The surroundings of a benchmark: one broker, one folder, workers of both sides, progress on stderr."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hearth.broker import KafkaBroker
from tests.bench.meter import Meter
from tests.peer.distributed import HearthDistributed, JavaDistributed
from tests.peer.hearth_connect import HearthConnect
from tests.peer.java_connect import DISTRIBUTION_OPTIONS, JavaConnect
from tests.peer.topic import Topics
from tests.peer.worker import Worker

SIDES = ("java", "hearth")
_STRINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}
# Kafka's own sample worker flushes every ten seconds, and so do both sides here.
_WORKER = {"offset.flush.interval.ms": "10000"}


@dataclass
class Bench:
    """What the cases share."""

    folder: Path
    broker: KafkaBroker
    pairs: int
    records: int
    topics: Topics
    sides: Sequence[str] = SIDES
    connectors: Sequence[int] = (100, 200)
    """How many connectors there are in the runs of case i."""
    hearth: Mapping[str, str] = field(default_factory=dict)
    """Further worker properties of Hearth's side."""
    rows: int = 2_000_000
    """How many rows there are in those DataFrames that are measured by a rate."""
    _number: int = field(default=0)

    def say(self, text: str) -> None:
        """Tell the one who waits what is going on."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def fresh(self, name: str) -> str:
        """Return a name that no run had before."""
        self._number += 1
        return f"{name}-{self._number}"

    def runs(self) -> Iterator[tuple[int, str]]:
        """Yield pair number and side of every run, the sides alternating."""
        for pair in range(1, self.pairs + 1):
            for side in self.sides:
                settle()
                yield pair, side

    def worker(
        self,
        side: str,
        settings: Mapping[str, str] | None = None,
        connectors: Sequence[Mapping[str, str]] = (),
        strings: bool = True,
    ) -> Worker:
        """Return a worker that is not started yet, as a user of that side would have it."""
        folder = self.folder / self.fresh(side)
        merged = {**_WORKER, **(_STRINGS if strings else {}), **(settings or {})}
        if side == "java":
            return JavaConnect(folder, self.broker.bootstrap_servers, merged, connectors, DISTRIBUTION_OPTIONS)
        return HearthConnect(folder, self.broker.bootstrap_servers, {**merged, **self.hearth}, connectors)

    def cluster_worker(self, side: str, settings: Mapping[str, str] | None = None, strings: bool = True) -> Worker:
        """Return the only worker of a cluster of its own, which is not started yet; its stores are topics."""
        name = self.fresh(f"{side}-cluster")
        folder, servers = self.folder / name, self.broker.bootstrap_servers
        merged = {**_WORKER, **(_STRINGS if strings else {}), **(settings or {})}
        if side == "java":
            return JavaDistributed(folder, servers, name, merged, DISTRIBUTION_OPTIONS)
        return HearthDistributed(folder, servers, name, {**merged, **self.hearth})


@contextmanager
def running(worker: Worker) -> Iterator[Meter]:
    """Start a worker, watch what it costs, and stop it."""
    worker.start()
    try:
        with Meter(worker.pid) as meter:
            yield meter
    finally:
        worker.stop()


def settle() -> None:
    """Write out what earlier runs left in memory, so that it does not slow down the next one."""
    os.sync()
    time.sleep(1)
