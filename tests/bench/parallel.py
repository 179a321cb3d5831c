"""Case l: one connector with eight tasks on eight partitions, source and sink."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench.bench import Bench, running
from tests.bench.record_form import Row, World
from tests.bench.result import Metric, Result
from tests.bench.throughput import Sink, Throughput

TASKS = 8
_STRING = {"value.converter": "org.apache.kafka.connect.storage.StringConverter", "tasks.max": str(TASKS)}
_GOAL = 2.0
_COLUMNS = {"connector.class": "org.example.pace.PaceColumns"}
"""A source in Java makes records; here the same one may make batches, too."""


def measure(bench: Bench) -> Result:
    """Run source and sink in a worker of its own each, the sides alternating."""
    sink = Throughput("l", "sink", is_source=False, is_text=True, config={"tasks.max": str(TASKS)}, goal=_GOAL)
    topic, world = Sink(bench, sink, partitions=TASKS), World(bench, share=1)
    title = f"one connector with {TASKS} tasks on {TASKS} partitions, String, {bench.records:,} records"
    result = Result(
        "l", title, [metric for name in ("source", "source record form", "sink") for metric in _metrics(name)]
    )
    for pair, side in bench.runs():
        worker = bench.worker(side, {"plugin.path": str(world.plugins(side))})
        values: dict[str, float] = {}
        with running(worker) as meter:
            for name, config in _sources(side).items():
                made = world.run(worker, meter, Row(name, "text", config), "source", TASKS)
                values |= {key.removeprefix("source "): value for key, value in made.items()}
        drained = topic.run(bench.worker(side))
        values |= {f"sink {name}": drained[name] for name in ("rate", "cpu")}
        if side == "java":  # whose source has one form
            values |= {f"source record form {name}": values[f"source {name}"] for name in ("rate", "cpu")}
        result.add(side, **values)
        bench.say(f"l {pair}/{bench.pairs} {side}: " + ", ".join(f"{value:,.2f}" for value in values.values()))
    topic.close()
    world.close()
    return result


def _sources(side: str) -> Mapping[str, Mapping[str, str]]:
    """Return the forms of the source that a side has, each with its configuration."""
    if side == "java":
        return {"source": _STRING}
    return {"source": {**_STRING, **_COLUMNS}, "source record form": _STRING}


def _metrics(name: str) -> tuple[Metric, Metric]:
    goal = None if name == "source record form" else _GOAL
    return (
        Metric(f"{name} rate", f"{name}, records/s", goal=goal, format="{:,.0f}"),
        Metric(f"{name} cpu", f"{name}, CPU s per million", "lower", format="{:.2f}"),
    )
