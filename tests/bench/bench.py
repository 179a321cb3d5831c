"""The environment of a benchmark: one broker, one folder, workers of both sides, progress on stderr."""

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
# Kafka's sample worker flushes every ten seconds, and so do both sides here.
_WORKER = {"offset.flush.interval.ms": "10000"}


@dataclass
class Bench:
    """The resources and settings that the cases share."""

    folder: Path
    broker: KafkaBroker
    pairs: int
    records: int
    topics: Topics
    sides: Sequence[str] = SIDES
    connectors: Sequence[int] = (100, 200)
    """Numbers of connectors for the runs of case i."""
    hearth: Mapping[str, str] = field(default_factory=dict)
    """Additional worker properties of Hearth's side."""
    rows: int = 2_000_000
    """How many rows the DataFrames have whose rate is measured."""
    _number: int = field(default=0)

    def say(self, text: str) -> None:
        """Print progress."""
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def fresh(self, name: str) -> str:
        """Return a name that no earlier run had."""
        self._number += 1
        return f"{name}-{self._number}"

    def runs(self) -> Iterator[tuple[int, str]]:
        """Yield pair number and side of every run; the sides alternate."""
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
        """Return a worker that is not started yet, configured as its users would."""
        folder = self.folder / self.fresh(side)
        merged = {**_WORKER, **(_STRINGS if strings else {}), **(settings or {})}
        if side == "java":
            return JavaConnect(folder, self.broker.bootstrap_servers, merged, connectors, DISTRIBUTION_OPTIONS)
        return HearthConnect(folder, self.broker.bootstrap_servers, {**merged, **self.hearth}, connectors)

    def cluster_worker(self, side: str, settings: Mapping[str, str] | None = None, strings: bool = True) -> Worker:
        """Return a cluster's single worker, not started yet; its stores are topics."""
        name = self.fresh(f"{side}-cluster")
        folder, servers = self.folder / name, self.broker.bootstrap_servers
        merged = {**_WORKER, **(_STRINGS if strings else {}), **(settings or {})}
        if side == "java":
            return JavaDistributed(folder, servers, name, merged, DISTRIBUTION_OPTIONS)
        return HearthDistributed(folder, servers, name, {**merged, **self.hearth})


@contextmanager
def running(worker: Worker) -> Iterator[Meter]:
    """Start a worker, measure it, and stop it."""
    worker.start()
    try:
        with Meter(worker.pid) as meter:
            yield meter
    finally:
        worker.stop()


def settle() -> None:
    """Flush earlier runs' dirty pages, so that they do not slow down the next run."""
    os.sync()
    time.sleep(1)
