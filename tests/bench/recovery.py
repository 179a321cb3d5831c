"""Case h: how long records stand still after something was killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench.bench import Bench, running, settle
from tests.bench.cluster import SparkCluster
from tests.bench.latency import Pipeline
from tests.bench.result import Metric, Result
from tests.peer.rest import eventually

_TIMEOUT = 120.0
_POLL = 0.005
_PAUSE = 0.01
_BEFORE = 2.0
_AFTER = 1.0
_METRICS = (
    Metric("executor", "s after SIGKILL of an executor", "lower", goal=2.0, absolute=True, format="{:.2f}"),
    Metric("host", "s after a SIGKILLed worker is started anew", "lower", goal=6.0, absolute=True, format="{:.2f}"),
)


def measure(bench: Bench) -> Result:
    """Kill the executor (Hearth only: Java has none), and the worker, while lines are being appended."""
    result = Result("h", "from a kill to records flowing again", _METRICS)
    for pair, side in bench.runs():
        values = {"host": _kill_worker(bench, side)}
        if side == "hearth":
            settle()
            values["executor"] = _kill_executor(bench)
        result.add(side, **values)
        bench.say(
            f"h {pair}/{bench.pairs} {side}: " + ", ".join(f"{name} {value:.2f} s" for name, value in values.items())
        )
    return result


def _kill_worker(bench: Bench, side: str) -> float:
    """Return the seconds from the second start of a killed worker to the end of the standstill."""
    pipeline = Pipeline(bench, "bench-h")
    worker = bench.worker(side, connectors=pipeline.configs())
    with worker, _appending(pipeline):
        _wait_for(pipeline, 1)
        time.sleep(_BEFORE)
        worker.kill()
        started = time.monotonic()
        worker.start(wait=False)
        seconds = _standstill(pipeline, started)
    pipeline.remove()
    return seconds


def _kill_executor(bench: Bench) -> float:
    """Return the seconds from the death of the busier of two executors to the end of the standstill."""
    pipeline = Pipeline(bench, "bench-h")
    with SparkCluster(bench.folder / bench.fresh("spark"), workers=2, jvm_options=()) as cluster:
        worker = bench.worker("hearth", settings=cluster.settings())
        with running(worker):
            pipeline.create(worker)
            with _appending(pipeline):
                _wait_for(pipeline, 1)
                time.sleep(_BEFORE)
                os.kill(cluster.busiest_executor(), signal.SIGKILL)
                seconds = _standstill(pipeline, time.monotonic())
    pipeline.remove()
    return seconds


@contextmanager
def _appending(pipeline: Pipeline) -> Iterator[None]:
    """Append a line every few milliseconds until the end of the block."""
    stop = threading.Event()

    def append() -> None:
        while not stop.wait(_PAUSE):
            pipeline.append()

    thread = threading.Thread(target=append, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _wait_for(pipeline: Pipeline, number: int) -> None:
    """Wait until the line with this number, or a later one, is in the output."""
    wanted = number * pipeline.line_bytes
    assert eventually(lambda: pipeline.output_size() >= wanted, _TIMEOUT), f"line {number} did not arrive"


def _standstill(pipeline: Pipeline, since: float) -> float:
    """Return the seconds from a moment to the end of the longest time without output after it.

    What a killed process had already handed on may arrive, and its orphans may go on for an instant; so it is the
    longest silence that counts, and it is over when lines arrive that were appended a second after the moment.
    """
    position, last, longest, end = pipeline.output_size(), since, 0.0, since
    wanted: int | None = None
    while True:
        time.sleep(_POLL)
        now = time.monotonic()
        assert now < since + _TIMEOUT, f"nothing flowed for {_TIMEOUT:.0f} s"
        if wanted is None and now > since + _AFTER:
            wanted = pipeline.appended
        seen = pipeline.numbers(position)
        if not seen:
            continue
        position += len(seen) * pipeline.line_bytes
        if now - last > longest:
            longest, end = now - last, now
        last = now
        if wanted is not None and max(seen) >= wanted:
            return end - since
