"""Cases stores and once: the costs of running in a cluster, and of writing exactly once.

In the first both sides are Hearth: standalone with files, and as a cluster's single host with configurations, offsets
and statuses in Kafka's topics. In the second both sides, Hearth and Java, are hosts of such a cluster, whose source
writes at least once or exactly once. Transaction markers take offsets in a topic, so the count of records is too
large by the number of transactions: one in thousands of records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.bench import Bench, settle
from tests.bench.result import Metric, Result
from tests.bench.throughput import CASES, Sink, Source, Throughput
from tests.peer.worker import Worker

MODES = ("standalone", "topic stores")
PROMISES = ("at least once", "exactly once")
_STORES_GOAL, _ONCE_GOAL = 0.97, 0.75
_ONCE = {"exactly.once.source.support": "enabled"}


@dataclass(frozen=True)
class Row:
    """A case of throughput that one side, Java or Hearth, runs in both modes."""

    name: str
    owner: str
    case: Throughput
    goal: float | None = None

    def metrics(self) -> Sequence[Metric]:
        """Return the compared metrics; if both sides are Hearth, Spark's JVM counts as well."""
        return (
            Metric(f"{self.name} rate", f"{self.name}, records/s", goal=self.goal, format="{:,.0f}"),
            Metric(f"{self.name} cpu_without_jvm", f"{self.name}, CPU s per million", "lower", format="{:.2f}"),
        )


def measure_stores(bench: Bench) -> Result:
    """Run cases a to d on a standalone Hearth and in a cluster, alternately."""

    def worker(side: str, row: Row) -> Worker:
        make = bench.worker if side == MODES[0] else bench.cluster_worker
        return make(row.owner, strings=row.case.is_text)

    rows = [Row(f"({case.case})", "hearth", case, _STORES_GOAL) for case in CASES]
    return _measure(bench, "stores", "stores in topics", MODES, rows, worker)


def measure_once(bench: Bench) -> Result:
    """Run the sources of cases a and b at least once and exactly once, alternately."""

    def worker(side: str, row: Row) -> Worker:
        settings: Mapping[str, str] = _ONCE if side == PROMISES[1] else {}
        return bench.cluster_worker(row.owner, settings, strings=row.case.is_text)

    rows = [
        Row(f"{owner.capitalize()} ({case.case})", owner, case, _ONCE_GOAL if owner == "hearth" else None)
        for case in CASES[:2]
        for owner in bench.sides
    ]
    return _measure(bench, "once", "exactly once in a cluster", PROMISES, rows, worker)


def _measure(
    bench: Bench,
    case: str,
    title: str,
    sides: tuple[str, str],
    rows: Sequence[Row],
    worker: Callable[[str, Row], Worker],
) -> Result:
    result = Result(
        case, f"{title}, {bench.records:,} lines", [metric for row in rows for metric in row.metrics()], sides
    )
    rows = [row for row in rows if row.owner in bench.sides]
    worlds = {row.case.case: (Source if row.case.is_source else Sink)(bench, row.case) for row in rows}
    for pair in range(1, bench.pairs + 1):
        for row in rows:
            for side in sides if pair % 2 else sides[::-1]:  # the second writer finds the disk busy
                settle()
                found = worlds[row.case.case].run(worker(side, row))
                values = {what: found[what] for what in ("rate", "cpu_without_jvm")}
                result.add(side, **{f"{row.name} {what}": value for what, value in values.items()})
                summary = f"{values['rate']:,.0f}, {values['cpu_without_jvm']:.2f}"
                bench.say(f"{case} {pair}/{bench.pairs} {side} {row.name}: {summary}")
    for world in worlds.values():
        world.close()
    return result
