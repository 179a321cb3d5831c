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

_TIMEOUT = 120.0
_POLL = 0.005
_PAUSE = 0.01
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
    """Return the seconds from the second start of a killed worker to a line that was appended after the kill."""
    pipeline = Pipeline(bench, "bench-h")
    worker = bench.worker(side, connectors=pipeline.configs())
    with worker, _appending(pipeline):
        _flows(pipeline, 1)
        time.sleep(2)
        worker.kill()
        started, number = time.monotonic(), pipeline.appended + 1
        worker.start(wait=False)
        seconds = _flows(pipeline, number) - started
    pipeline.remove()
    return seconds


def _kill_executor(bench: Bench) -> float:
    """Return the seconds from the death of the busiest of two executors to a line appended after it."""
    pipeline = Pipeline(bench, "bench-h")
    with SparkCluster(bench.folder / bench.fresh("spark"), workers=2) as cluster:
        worker = bench.worker("hearth", settings=cluster.settings())
        with running(worker):
            pipeline.create(worker)
            with _appending(pipeline):
                _flows(pipeline, 1)
                time.sleep(2)
                killed, number = time.monotonic(), pipeline.appended + 1
                os.kill(cluster.busiest_executor(), signal.SIGKILL)
                seconds = _flows(pipeline, number) - killed
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


def _flows(pipeline: Pipeline, number: int) -> float:
    """Return the moment a line with this number, or a later one, was seen in the output."""
    deadline = time.monotonic() + _TIMEOUT
    position = 0
    while time.monotonic() < deadline:
        seen = pipeline.numbers(position)
        if any(found >= number for found in seen):
            return time.monotonic()
        position += len(seen) * pipeline.line_bytes
        time.sleep(_POLL)
    raise AssertionError(f"line {number} did not arrive within {_TIMEOUT:.0f} s")
