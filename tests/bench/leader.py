"""Case leader: the costs of many connectors for a cluster's leading host, without those of their tasks.

Two hosts and a Spark cluster of two workers, whose executors run the tasks; all share this machine, so durations say
little, but CPU and memory are those of the leading host alone. At the end that host is killed, and the other one has
to restart everything.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.bench.bench import Bench, settle
from tests.bench.cluster import SparkCluster
from tests.bench.meter import Kind, Meter, kinds
from tests.bench.result import Metric, Result
from tests.peer.case import SOURCE_CLASS
from tests.peer.distributed import HearthDistributed
from tests.timeouts import eventually

SIDES = ("executors", "leader")
_TIMEOUT = 900.0
_POLL = 2.0
"""Interval of the checks whether all run: a response costs CPU, which is measured as well."""
_REST_SECONDS, _IDLE_SECONDS = 20.0, 30.0
_CLIENTS = 4
_STRINGS = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")


def measure(bench: Bench) -> Result:
    """Create connectors on one of two hosts, leave them idle, and kill that host; once for each count."""
    metrics = [metric for count in bench.connectors for metric in _metrics(count)]
    result = Result("leader", "file sources with nothing to read on a Spark cluster, one task each", metrics, SIDES)
    if "hearth" not in bench.sides:
        return result
    for pair in range(1, bench.pairs + 1):
        for count in bench.connectors:
            settle()
            for side, values in _Run(bench, count).measure(result).items():
                result.add(side, **{f"{name} {count}": value for name, value in values.items()})
                summary = ", ".join(f"{name} {value:.3g}" for name, value in values.items())
                bench.say(f"leader {pair}/{bench.pairs} {count} {side}: {summary}")
    return result


def _metrics(count: int) -> list[Metric]:
    rows = (
        ("running", "s until all run", "{:.1f}"),
        ("cpu", "CPU s until all run", "{:.1f}"),
        ("cpu_jvm", "CPU s of that of its JVM", "{:.1f}"),
        ("memory", "MB", "{:,.0f}"),
        ("idle", "cores while all are idle", "{:.3f}"),
        ("list", "ms for a list with all statuses", "{:,.0f}"),
        ("again", "s until all run again when it was killed", "{:.1f}"),
        ("again cpu", "CPU s until all run again", "{:.1f}"),
    )
    return [Metric(f"{name} {count}", f"{count}: {unit}", "lower", format=form) for name, unit, form in rows]


class _Run:
    """Two hosts of a cluster and ``count`` connectors, from their start to their end."""

    def __init__(self, bench: Bench, count: int) -> None:
        self._bench, self._count = bench, count
        self._name = bench.fresh("bench-leader")

    def measure(self, result: Result) -> dict[str, dict[str, float]]:
        """Run it, and note the kinds of the leading host's processes."""
        slots = self._count + 8
        folder = self._bench.folder / self._name
        with SparkCluster(folder / "spark", workers=2, jvm_options=(), slots=slots) as cluster:
            settings = {**_STRINGS, **cluster.settings(), **self._bench.hearth}
            servers = self._bench.broker.bootstrap_servers
            first, second = (
                HearthDistributed(folder / str(number), servers, self._name, settings) for number in range(2)
            )
            with first, second:
                return self._live(first, second, cluster, result)

    def _live(
        self, first: HearthDistributed, second: HearthDistributed, cluster: SparkCluster, result: Result
    ) -> dict[str, dict[str, float]]:
        leader, executors = Meter(first.pid), [Meter(pid) for pid in cluster.pids]
        assert eventually(lambda: len(cluster.executors()) == cluster.size, _TIMEOUT)
        before, theirs_before = leader.refreshed(), sum(each.refreshed().cpu for each in executors)
        started = time.monotonic()
        with ThreadPoolExecutor(_CLIENTS) as clients:
            for answer in clients.map(first.rest.create, map(self._config, range(self._count))):
                assert answer.status == 201, answer.text
        assert eventually(lambda: self._all_run(first, first), _TIMEOUT, _POLL), first.last_words()
        running = time.monotonic() - started
        after, theirs_after = leader.refreshed(), sum(each.refreshed().cpu for each in executors)
        cpu = {"cpu": after.cpu - before.cpu, "cpu_jvm": after.cpu_jvm - before.cpu_jvm}
        time.sleep(_REST_SECONDS)
        own, theirs = self._idle([first.pid], result), self._idle(cluster.pids)
        asked = time.monotonic()
        assert self._all_run(first, first)
        listing = 1000 * (time.monotonic() - asked)
        successor = Meter(second.pid)
        spent, killed = successor.refreshed().cpu, time.monotonic()
        first.kill()
        assert eventually(lambda: self._all_run(second, second), _TIMEOUT, _POLL), second.last_words()
        again = {"again": time.monotonic() - killed, "again cpu": successor.refreshed().cpu - spent}
        return {
            SIDES[1]: {"running": running, **cpu, **own, "list": listing, **again},
            SIDES[0]: {"cpu": theirs_after - theirs_before, **theirs},
        }

    def _idle(self, roots: list[int], result: Result | None = None) -> dict[str, float]:
        """Return the memory and CPU of process trees while idle."""
        first, since = _kinds(roots), time.monotonic()
        time.sleep(_IDLE_SECONDS)
        last, seconds = _kinds(roots), time.monotonic() - since
        spent = {name: (kind.cpu - first.get(name, Kind()).cpu) / seconds for name, kind in last.items()}
        if result is not None:
            rows = sorted(last.items(), key=lambda row: -row[1].memory)
            summary = "; ".join(
                f"{kind.count} {name}: {kind.memory / 1e6:,.0f} MB, {spent[name] * 1000:.1f} ms a second"
                for name, kind in rows
            )
            result.notes.append(f"the leading host with {self._count}: {summary}")
        return {"memory": sum(kind.memory for kind in last.values()) / 1e6, "idle": sum(spent.values())}

    def _config(self, number: int) -> dict[str, str]:
        name = f"{self._name}-{number}"
        file = self._bench.folder / f"{name}.txt"
        file.touch()
        return {"name": name, "connector.class": SOURCE_CLASS, "file": str(file), "topic": name}

    def _all_run(self, asked: HearthDistributed, owner: HearthDistributed) -> bool:
        assert asked.is_running, asked.last_words()
        shown = asked.rest.call("GET", "/connectors?expand=status").json or {}
        name = f"127.0.0.1:{owner.port}"
        return len(shown) == self._count and all(_runs(each["status"], name) for each in shown.values())


def _runs(status: Mapping[str, Any], owner: str) -> bool:
    found = [(each["state"], each["worker_id"]) for each in (status["connector"], *status["tasks"])]
    return found == [("RUNNING", owner)] * 2


def _kinds(roots: list[int]) -> dict[str, Kind]:
    """Return the kinds of processes in several trees."""
    total: dict[str, Kind] = {}
    for root in roots:
        for name, kind in kinds(root).items():
            known = total.setdefault(name, Kind())
            known.count, known.cpu, known.memory = (
                known.count + kind.count, known.cpu + kind.cpu, known.memory + kind.memory
            )  # fmt: skip
    return total
