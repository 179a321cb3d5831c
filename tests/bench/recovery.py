"""Cases h and s: how long records stop after a kill, or after a clean stop."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tests.bench.bench import Bench, running, settle
from tests.bench.cluster import SparkCluster
from tests.bench.latency import Pipeline
from tests.bench.result import Metric, Result
from tests.peer.distributed import HearthDistributed, JavaDistributed
from tests.timeouts import eventually

_TIMEOUT = 120.0
_POLL = 0.005
_PAUSE = 0.01
_BEFORE = 2.0
_AFTER = 1.0
_METRICS = (
    Metric("executor", "s after SIGKILL of an executor", "lower", goal=2.0, absolute=True, format="{:.2f}"),
    Metric("host", "s after a SIGKILLed worker is started anew", "lower", goal=6.0, absolute=True, format="{:.2f}"),
)
_CLUSTER_TIMEOUT = 400.0
"""Java's workers wait five minutes for a worker that has left (`scheduled.rebalance.max.delay.ms`)."""
_CLUSTER_METRICS = (
    Metric("killed", "s after SIGKILL of the leading host", "lower", goal=8.0, absolute=True, format="{:.2f}"),
    Metric("stopped", "s after it was stopped in order", "lower", goal=8.0, absolute=True, format="{:.2f}"),
    Metric("spark", "s after SIGKILL on a Spark cluster", "lower", goal=8.0, absolute=True, format="{:.2f}"),
    Metric("rolling", "s at most, all hosts restarted there", "lower", goal=8.0, absolute=True, format="{:.2f}"),
)
_ROUNDS = 3
_HOSTS = {"java": 2, "hearth": 3}


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


def measure_cluster(bench: Bench) -> Result:
    """Kill, and stop, the leading one of several hosts permanently, while lines are being appended.

    Hearth's hosts each have a local Spark, and then share a cluster of two workers.
    """
    result = Result("s", "from the end of the leading host of a cluster to records flowing again", _CLUSTER_METRICS)
    for pair, side in bench.runs():
        values = {}
        for end in ("stopped", "killed"):
            values[end] = _end_leader(bench, side, end)
            settle()
        if side == "hearth":
            with SparkCluster(bench.folder / bench.fresh("spark"), workers=2, jvm_options=()) as spark:
                values["spark"] = _end_leader(bench, side, "killed", spark)
                settle()
                values["rolling"] = _restart_all(bench, side, spark)
            settle()
        result.add(side, **values)
        summary = ", ".join(f"{name} {each:.2f} s" for name, each in values.items())
        bench.say(f"s {pair}/{bench.pairs} {side}: {summary}")
    return result


def _end_leader(bench: Bench, side: str, end: str, spark: SparkCluster | None = None) -> float:
    """Return the seconds from the end of the oldest host until records flow again."""
    with _hosts(bench, side, spark) as (pipeline, hosts):
        since = time.monotonic()
        hosts[0].kill() if end == "killed" else hosts[0].stop()
        return _longest_pause(pipeline, since, _CLUSTER_TIMEOUT)


def _restart_all(bench: Bench, side: str, spark: SparkCluster) -> float:
    """Return the longest gap while hosts restart one after the other, each once lines flow again."""
    with _hosts(bench, side, spark) as (pipeline, hosts), _silence(pipeline) as longest:
        for host in [*hosts] * _ROUNDS:
            host.stop()
            host.start()
            _wait_for(pipeline, pipeline.appended + 1)
        return longest()


@contextmanager
def _hosts(
    bench: Bench, side: str, spark: SparkCluster | None
) -> Iterator[tuple[Pipeline, Sequence[JavaDistributed | HearthDistributed]]]:
    """Start a cluster of hosts, the first of which leads, and let lines flow."""
    pipeline, group = Pipeline(bench, "bench-s"), bench.fresh("group")
    kind = JavaDistributed if side == "java" else HearthDistributed
    settings = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")
    settings |= {} if spark is None else spark.settings()
    servers = bench.broker.bootstrap_servers
    hosts = [kind(bench.folder / bench.fresh(side), servers, group, settings) for _ in range(_HOSTS[side])]
    before = 0 if spark is None else spark.registered()
    with ExitStack() as stack:
        for host in hosts:
            stack.callback(host.stop)
            host.start()
        pipeline.create(hosts[-1])
        stack.enter_context(_appending(pipeline))
        _wait_for(pipeline, 1)
        if spark is not None:
            assert eventually(lambda: spark.registered() >= before + len(hosts), _TIMEOUT), "not all hosts have joined"
        time.sleep(_BEFORE)
        yield pipeline, hosts
    pipeline.remove()


def _kill_worker(bench: Bench, side: str) -> float:
    """Return the seconds from the restart of a killed worker until records flow again."""
    pipeline = Pipeline(bench, "bench-h")
    worker = bench.worker(side, connectors=pipeline.configs())
    with worker, _appending(pipeline):
        _wait_for(pipeline, 1)
        time.sleep(_BEFORE)
        worker.kill()
        started = time.monotonic()
        worker.start(wait=False)
        seconds = _longest_pause(pipeline, started)
    pipeline.remove()
    return seconds


def _kill_executor(bench: Bench) -> float:
    """Return the seconds from the death of the busier of two executors until records flow again."""
    pipeline = Pipeline(bench, "bench-h")
    with SparkCluster(bench.folder / bench.fresh("spark"), workers=2, jvm_options=()) as cluster:
        worker = bench.worker("hearth", settings=cluster.settings())
        with running(worker):
            pipeline.create(worker)
            with _appending(pipeline):
                _wait_for(pipeline, 1)
                time.sleep(_BEFORE)
                os.kill(cluster.busiest_executor(), signal.SIGKILL)
                seconds = _longest_pause(pipeline, time.monotonic())
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


@contextmanager
def _silence(pipeline: Pipeline) -> Iterator[Callable[[], float]]:
    """Watch the output during the block; the yielded function returns the longest time without output."""
    stop, longest = threading.Event(), 0.0

    def look() -> None:
        nonlocal longest
        size, last = pipeline.output_size(), time.monotonic()
        while not stop.wait(_POLL):
            before, size, now = size, pipeline.output_size(), time.monotonic()
            longest = max(longest, now - last)
            last = last if size == before else now

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield lambda: longest
    finally:
        stop.set()
        thread.join()


def _wait_for(pipeline: Pipeline, number: int) -> None:
    """Wait until the line with this number, or a later one, is in the output."""
    wanted = number * pipeline.line_bytes
    assert eventually(lambda: pipeline.output_size() >= wanted, _TIMEOUT), f"line {number} did not arrive"


def _longest_pause(pipeline: Pipeline, since: float, timeout: float = _TIMEOUT) -> float:
    """Return the seconds from a moment to the end of the longest time without output after it.

    Lines in flight from a killed process may still arrive, and its orphans may run for an instant; so the longest gap
    counts, and it ends when lines arrive that were appended a second after the moment.
    """
    position, last, longest, end = pipeline.output_size(), since, 0.0, since
    wanted: int | None = None
    while True:
        time.sleep(_POLL)
        now = time.monotonic()
        assert now < since + timeout, f"nothing flowed for {timeout:.0f} s"
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
