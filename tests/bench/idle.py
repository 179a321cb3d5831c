"""Case i: the costs of many idle connectors, and the times to start and to stop them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bench.bench import Bench
from tests.bench.meter import Kind, Meter, kinds
from tests.bench.result import Metric, Result
from tests.peer.case import SOURCE_CLASS
from tests.peer.worker import Worker
from tests.timeouts import eventually

CLIENTS = 4
"""Clients that create connectors concurrently."""
_TIMEOUT = 300.0
_POLL = 0.05
_REST_SECONDS = 20.0
"""Idle time before the measurement: loops poll less and less often."""
_IDLE_SECONDS = 30.0
_ENOUGH_CORES = 4
"""A machine with fewer cores has twice the time until a hundred connectors run."""


def measure(bench: Bench) -> Result:
    """Start connectors that each follow their own empty file, leave them idle for a while, and stop."""
    few, *more = bench.connectors
    metrics = [metric for count in bench.connectors for metric in _metrics(count)]
    if more:
        metrics.append(Metric("each", f"MB for each connector beyond {few}", "lower", 16.0, absolute=True))
    result = Result("i", f"file sources with nothing to read, one task each; {CLIENTS} clients create them", metrics)
    for pair, side in bench.runs():
        for count in bench.connectors:
            values = IdleRun(bench, side, count).measure(result)
            result.add(side, **{f"{name} {count}": value for name, value in values.items()})
            summary = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
            bench.say(f"i {pair}/{bench.pairs} {side} {count}: {summary}")
        if more:
            first, last = (result.runs[side][f"memory {count}"][-1] for count in (few, more[-1]))
            result.add(side, each=(last - first) / (more[-1] - few))
    return result


def _metrics(count: int) -> list[Metric]:
    """Return the metrics for ``count`` connectors; there are goals for one hundred."""
    running = 4.0 if len(os.sched_getaffinity(0)) >= _ENOUGH_CORES else 8.0
    goals: Mapping[str, float] = {"running": running, "memory": 2000.0, "idle": 0.05} if count == 100 else {}
    rows = (
        ("running", "s until all run", "{:.1f}"),
        ("cpu", "CPU s until all run", "{:.1f}"),
        ("memory", "MB of all processes", "{:,.0f}"),
        ("idle", "cores while all are idle", "{:.3f}"),
        ("wakes", "wakes of threads a second while all are idle", "{:,.0f}"),
        ("stop", "s to stop in order", "{:.1f}"),
    )
    return [
        Metric(f"{name} {count}", f"{count}: {unit}", "lower", goals.get(name), absolute=True, format=form)
        for name, unit, form in rows
    ]


class IdleRun:
    """One worker with ``count`` connectors, from its start to its end."""

    def __init__(self, bench: Bench, side: str, count: int, settings: Mapping[str, str] | None = None) -> None:
        self._name = bench.fresh("bench-i")
        self._bench, self._count = bench, count
        self._worker = bench.worker(side, settings)

    def measure(self, result: Result) -> dict[str, float]:
        """Run it, and note the kinds of its processes."""
        worker = self._worker
        worker.start()
        try:
            values = self._live(worker, result)
            started = time.monotonic()
        finally:
            worker.stop(_TIMEOUT)
        return {**values, "stop": time.monotonic() - started}

    def _live(self, worker: Worker, result: Result) -> dict[str, float]:
        meter = Meter(worker.pid)  # not closed by a block: watching all the time would distort the measurement
        before = meter.refreshed().cpu
        started = time.monotonic()
        self._create(worker)
        assert eventually(self._all_run, _TIMEOUT, _POLL), f"{worker.side}: not all run\n{worker.last_words()}"
        running = time.monotonic() - started
        cpu = meter.refreshed().cpu - before
        time.sleep(_REST_SECONDS)
        first, since = kinds(worker.pid), time.monotonic()
        time.sleep(_IDLE_SECONDS)
        last, seconds = kinds(worker.pid), time.monotonic() - since
        spent = {name: (kind.cpu - first.get(name, Kind()).cpu) / seconds for name, kind in last.items()}
        woken = sum(kind.wakes for kind in last.values()) - sum(kind.wakes for kind in first.values())
        result.notes.append(f"{worker.side} with {self._count}: {_described(last, spent)}")
        memory = sum(kind.memory for kind in last.values())
        idle = {"idle": sum(spent.values()), "wakes": woken / seconds}
        return {"running": running, "cpu": cpu, "memory": memory / 1e6, **idle}

    def _create(self, worker: Worker) -> None:
        with ThreadPoolExecutor(CLIENTS) as clients:
            for answer in clients.map(worker.rest.create, map(self._config, range(self._count))):
                assert answer.status == 201, answer.text

    def _config(self, number: int) -> dict[str, str]:
        name = f"{self._name}-{number}"
        file = self._bench.folder / f"{name}.txt"
        file.touch()
        return {"name": name, "connector.class": SOURCE_CLASS, "file": str(file), "topic": name}

    def _all_run(self) -> bool:
        assert self._worker.is_running, self._worker.last_words()
        shown = self._worker.rest.call("GET", "/connectors?expand=status").json or {}
        return len(shown) == self._count and all(_runs(each["status"]) for each in shown.values())


def _runs(status: Mapping[str, Any]) -> bool:
    return [each["state"] for each in (status["connector"], *status["tasks"])] == ["RUNNING", "RUNNING"]


def _described(found: Mapping[str, Kind], spent: Mapping[str, float]) -> str:
    """Describe the kinds of processes: how many, their memory, and their CPU while idle."""
    rows = sorted(found.items(), key=lambda row: -row[1].memory)
    return "; ".join(
        f"{kind.count} {name}: {kind.memory / 1e6:,.0f} MB, {spent[name] * 1000:.1f} ms a second"
        for name, kind in rows
    )
