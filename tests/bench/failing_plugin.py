"""Case dirty:own: errors that third-party plugins report and raise, with equal plugins in Java and in Python.

A sink that reports one in ten records as bad, in record form and in columns; one whose put raises a retriable error
once in a thousand records and gets them again; a transformation in record form that refuses one in ten.
"""

from __future__ import annotations

from dataclasses import replace

from tests.bench.bench import Bench, running
from tests.bench.record_form import Row, World
from tests.bench.result import Metric, Result

_STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter"}
_DEAD = {
    "errors.tolerance": "all",
    "errors.deadletterqueue.topic.replication.factor": "1",
    "errors.deadletterqueue.context.headers.enable": "true",
}
_REFUSE = {
    "errors.tolerance": "all",
    "transforms": "refuse",
    "transforms.refuse.type": "org.example.pace.Refuse",
}
_REPORT = {**_STRING, **_DEAD, "report.every": "10"}
_ROWS = (
    Row("clean, in record form", "text", _STRING),
    Row("one in ten reported", "text", _REPORT),
    Row("one in ten reported, in columns", "headed", _REPORT, is_batch=True),
    Row("a put in a thousand records raises", "text", {**_STRING, "raise.every": "1000"}),
    Row("one in ten refused by a transformation", "text", {**_STRING, **_REFUSE}, arriving=0.9),
)


def measure(bench: Bench) -> Result:
    """Run every sink of a side in one worker; the sides alternate."""
    world = World(bench, _ROWS, share=20)
    metrics = [metric for row in _ROWS for metric in _metrics(row)]
    result = Result("dirty:own", f"what plugins report and raise themselves, {world.count:,} records", metrics)
    for pair, side in bench.runs():
        settings = {"plugin.path": str(world.plugins(side)), "key.converter": _STRING["value.converter"]}
        worker = bench.worker(side, settings, strings=False)
        with running(worker) as meter:
            for row in _ROWS:
                letters = bench.fresh("letters")
                config = dict(row.config)
                if "report.every" in config:
                    config["errors.deadletterqueue.topic.name"] = letters
                found = world.run(worker, meter, replace(row, config=config), "sink")
                bench.topics.delete([letters])
                bench.say(f"own {pair}/{bench.pairs} {side} {row.name}: {next(iter(found.values())):,.0f} records/s")
                result.add(side, **found)
    world.close()
    return result


def _metrics(row: Row) -> tuple[Metric, Metric]:
    name = f"sink {row.name}"
    return (
        Metric(f"{name} rate", f"{name}, records/s", goal=1.0, format="{:,.0f}"),
        Metric(f"{name} cpu", f"{name}, CPU s per million", "lower", format="{:.2f}"),
    )
