"""Case g: the latency of a line from the end of one file, through Kafka, to the end of another."""

from __future__ import annotations

import os
import random
import statistics
import time
from pathlib import Path

from tests.bench.bench import Bench, running
from tests.bench.result import Metric, Result
from tests.peer.case import SINK_CLASS, SOURCE_CLASS
from tests.peer.worker import Worker

SAMPLES = 60
_WARM_UP = 10
_TIMEOUT = 60.0
_POLL = 0.0005
_METRICS = (
    Metric("p50", "ms, median", "lower", goal=1.0),
    Metric("p99", "ms, 99th percentile", "lower", goal=1.0),
)


def measure(bench: Bench) -> Result:
    """Append single lines at random moments to a running pipeline and wait for each."""
    result = Result("g", f"latency from append to sink output, {SAMPLES} lines a run", _METRICS)
    for pair, side in bench.runs():
        latencies = _run(bench, side)
        cuts = statistics.quantiles(latencies, n=100, method="inclusive")
        result.add(side, p50=cuts[49], p99=cuts[98])
        bench.say(f"g {pair}/{bench.pairs} {side}: p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms")
    return result


def _run(bench: Bench, side: str) -> list[float]:
    """Return the latencies of one run in milliseconds."""
    pipeline = Pipeline(bench, "bench-g")
    worker = bench.worker(side)
    with running(worker):
        pipeline.create(worker)
        latencies = [_one(pipeline) for _ in range(_WARM_UP + SAMPLES)]
    pipeline.remove()
    return latencies[_WARM_UP:]


def _one(pipeline: Pipeline) -> float:
    """Append a line and return the milliseconds until it is in the output.

    The pause is random up to a second because Java's source polls its file once a second when idle: a short pause
    would always meet it at the same phase.
    """
    time.sleep(random.uniform(0.0, 1.0))
    wanted = pipeline.output_size() + pipeline.line_bytes
    started = time.monotonic()
    pipeline.append()
    while pipeline.output_size() < wanted:
        assert time.monotonic() - started < _TIMEOUT, "the line did not arrive"
        time.sleep(_POLL)
    return (time.monotonic() - started) * 1000


class Pipeline:
    """A file source and a file sink with a topic between them."""

    def __init__(self, bench: Bench, name: str) -> None:
        self.topic = bench.fresh(name)
        self.input = bench.folder / f"{self.topic}-in.txt"
        self.output = bench.folder / f"{self.topic}-out.txt"
        self.appended = 0
        self._bench = bench
        self.input.touch()
        bench.topics.create(self.topic)
        self._descriptor = os.open(self.input, os.O_WRONLY | os.O_APPEND)

    line_bytes = 20

    def configs(self) -> list[dict[str, str]]:
        """Return the configurations of both connectors."""
        source = {
            "name": f"{self.topic}-source",
            "connector.class": SOURCE_CLASS,
            "file": str(self.input),
            "topic": self.topic,
        }
        sink = {
            "name": f"{self.topic}-sink",
            "connector.class": SINK_CLASS,
            "file": str(self.output),
            "topics": self.topic,
        }
        return [source, sink]

    def create(self, worker: Worker) -> None:
        """Create both connectors on a running worker and wait until they run."""
        for config in self.configs():
            worker.run(config)

    def append(self) -> int:
        """Append one line with the next number, and return the number."""
        self.appended += 1
        os.write(self._descriptor, b"%0*d\n" % (self.line_bytes - 1, self.appended))
        return self.appended

    def output_size(self) -> int:
        """Return the size of the output, 0 if it does not exist."""
        try:
            return self.output.stat().st_size
        except FileNotFoundError:
            return 0

    def numbers(self, start: int = 0) -> list[int]:
        """Return the numbers of the complete lines in the output after a position."""
        if not self.output.exists():
            return []
        with self.output.open("rb") as file:
            file.seek(start)
            return [int(line) for line in file.read().split(b"\n")[:-1]]

    def remove(self) -> None:
        """Remove topic, group and files."""
        os.close(self._descriptor)
        self._bench.topics.delete([self.topic])
        self._bench.topics.delete_groups([f"connect-{self.topic}-sink"])
        for path in (self.input, self.output):
            Path(path).unlink(missing_ok=True)
