"""Case f: the time from the start of the process to a REST response, and to the first record in Kafka."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.bench.bench import Bench
from tests.bench.result import Metric, Result
from tests.peer.case import SOURCE_CLASS
from tests.peer.worker import Worker

_METRICS = (
    Metric("rest", "s to REST ready", "lower", goal=1.5, absolute=True, format="{:.2f}"),
    Metric("first", "s to first record", "lower", goal=1.0, format="{:.2f}"),
)
_TIMEOUT = 120.0
_POLL = 0.02


def measure(bench: Bench) -> Result:
    """Start workers with a connector on the command line, as `connect-standalone` is used."""
    result = Result("f", "start of a worker with one file source", _METRICS)
    file = bench.folder / "f.txt"
    file.write_text("first\n")
    # An environment is built for a new bundle; that is installation, not start.
    if "hearth" in bench.sides:
        started(bench, "hearth", file)
    for pair, side in bench.runs():
        rest, first = started(bench, side, file)
        result.add(side, rest=rest, first=first)
        bench.say(f"f {pair}/{bench.pairs} {side}: REST {rest:.2f} s, first record {first:.2f} s")
    return result


def started(bench: Bench, side: str, file: Path, settings: Mapping[str, str] | None = None) -> tuple[float, float]:
    """Start a worker and return both times in seconds."""
    topic = bench.fresh("bench-f")
    bench.topics.create(topic)
    config = {"name": topic, "connector.class": SOURCE_CLASS, "file": str(file), "topic": topic}
    worker = bench.worker(side, settings, connectors=[config])
    with bench.topics.watched(topic) as count:
        assert count() == 0
        begun = time.monotonic()
        worker.start(wait=False)
        try:
            return _watch(worker, count, begun)
        finally:
            worker.stop()
            bench.topics.delete([topic])


def _watch(worker: Worker, count: Callable[[], int], begun: float) -> tuple[float, float]:
    """Poll the REST API and the topic alternately until both work."""
    rest = first = 0.0
    while not (rest and first):
        if not rest and worker.rest.is_up():
            rest = time.monotonic() - begun
        if not first and count():
            first = time.monotonic() - begun
        assert worker.is_running, worker.last_words()
        assert time.monotonic() - begun < _TIMEOUT, worker.last_words()
        time.sleep(_POLL)
    return rest, first
