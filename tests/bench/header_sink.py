"""Case dirty:read: sinks that read a header of each record, by kinds of values, in record form and in columns.

Java's sink is the same in both rows.
"""

from __future__ import annotations

from tests.bench.bench import Bench, running
from tests.bench.dirty_data import HEADERS
from tests.bench.record_form import Row, World
from tests.bench.result import Metric, Result

_STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
_ROWS = tuple(
    Row(
        f"{kind}{', in columns' if is_batch else ''}",
        "any",
        _STRING,
        2.0 if is_batch else 1.0,
        0.0,
        is_batch,
        header=kind,
    )
    for kind in (*HEADERS, "mixed")
    for is_batch in (False, True)
)


def measure(bench: Bench) -> Result:
    """Run every sink of a side in one worker; the sides alternate."""
    world = World(bench, _ROWS, share=20)
    metrics = [metric for row in _ROWS for metric in _metrics(row)]
    result = Result("dirty:read", f"sinks that read a header, {world.count:,} records", metrics)
    for pair, side in bench.runs():
        settings = {"plugin.path": str(world.plugins(side)), "key.converter": _STRING["value.converter"]}
        worker = bench.worker(side, settings, strings=False)
        with running(worker) as meter:
            for row in _ROWS:
                found = world.run(worker, meter, row, "sink")
                bench.say(f"read {pair}/{bench.pairs} {side} {row.name}: {next(iter(found.values())):,.0f} records/s")
                result.add(side, **found)
    world.close()
    return result


def _metrics(row: Row) -> tuple[Metric, Metric]:
    name = f"sink {row.name}"
    return (
        Metric(f"{name} rate", f"{row.name}, records/s", goal=row.sink_goal, format="{:,.0f}"),
        Metric(f"{name} cpu", f"{row.name}, CPU s per million", "lower", format="{:.2f}"),
    )
