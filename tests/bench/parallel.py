"""Case l: one connector with eight tasks on eight partitions, source and sink."""

from __future__ import annotations

from tests.bench.bench import Bench, running
from tests.bench.record_form import Row, World
from tests.bench.result import Metric, Result
from tests.bench.throughput import Sink, Throughput

TASKS = 8
_STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter", "tasks.max": str(TASKS)}
_GOAL = 2.0
_SOURCES = (
    Row("source", "headed", _STRING, is_batch=True),
    Row("source record form", "headed", _STRING),
)
"""Texts with a key, a time and two headers. A source in Java returns records; in Hearth it may return batches too."""


def measure(bench: Bench) -> Result:
    """Run source and sink in separate workers; the sides alternate."""
    sink = Throughput("l", "sink", is_source=False, is_text=True, config={"tasks.max": str(TASKS)}, goal=_GOAL)
    topic, world = Sink(bench, sink, partitions=TASKS), World(bench, share=1)
    title = f"one connector with {TASKS} tasks on {TASKS} partitions, {bench.records:,} records"
    result = Result(
        "l", title, [metric for name in ("source", "source record form", "sink") for metric in _metrics(name)]
    )
    for pair, side in bench.runs():
        worker = bench.worker(side, {"plugin.path": str(world.plugins(side))})
        values: dict[str, float] = {}
        with running(worker) as meter:
            for row in _SOURCES[: 1 if side == "java" else 2]:
                made = world.run(worker, meter, row, "source", TASKS)
                values |= {key.removeprefix("source "): value for key, value in made.items()}
        drained = topic.run(bench.worker(side))
        values |= {f"sink {name}": drained[name] for name in ("rate", "cpu")}
        if side == "java":  # Java's source has only one form
            values |= {f"source record form {name}": values[f"source {name}"] for name in ("rate", "cpu")}
        result.add(side, **values)
        bench.say(f"l {pair}/{bench.pairs} {side}: " + ", ".join(f"{value:,.2f}" for value in values.values()))
    topic.close()
    world.close()
    return result


def _metrics(name: str) -> tuple[Metric, Metric]:
    goal = None if name == "source record form" else _GOAL
    return (
        Metric(f"{name} rate", f"{name}, records/s", goal=goal, format="{:,.0f}"),
        Metric(f"{name} cpu", f"{name}, CPU s per million", "lower", format="{:.2f}"),
    )
