"""Cases jar-...: Java's own plugins, from their archives, in Java Connect and in Hearth.

The other modules named ``jar_...`` hold the larger ones.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.bench.bench import Bench, running
from tests.bench.idle import IdleRun
from tests.bench.record_form import Row, World
from tests.bench.result import Metric, Result
from tests.bench.throughput import LINE_BYTES, Sink, Source, Throughput, metrics
from tests.peer.plugin_list import place

TASKS = 20
TABLES = 20
_FILE = (
    Throughput("jar-source", "FileStreamSource of Kafka's jar, String", True, True, {}, goal=2.5),
    Throughput("jar-sink", "FileStreamSink of Kafka's jar, String", False, True, {}, goal=2.0),
)
_TABLES = Row(
    f"{TABLES} tables in turn",
    "kinds_in_turn",
    {"at.once": "2000", "kinds": str(TABLES)},
    source_goal=1.0,
    turns=TABLES,
)
_ENOUGH = 60_000


def unpacked(bench: Bench, *bundles: str) -> Path:
    """Return a new plugin.path with bundles of Java plugins as directories, as Java Connect needs them."""
    folder = bench.folder / bench.fresh("jars")
    folder.mkdir()
    for bundle in bundles:
        location = place(bundle, folder)
        if location.is_file():
            with tarfile.open(location) as archive:
                archive.extractall(folder, filter="data")
            location.unlink()
    return folder


def _measure_file(case: Throughput, bench: Bench) -> Result:
    """Run Kafka's file connectors in alternating pairs."""
    result = Result(case.case, f"{case.title}, {bench.records:,} lines of {LINE_BYTES} bytes", metrics(case))
    settings = {"plugin.path": str(unpacked(bench, "connect-file"))}
    world = Source(bench, case) if case.is_source else Sink(bench, case)
    for pair, side in bench.runs():
        values = world.run(bench.worker(side, settings))
        result.add(side, **values)
        bench.say(f"{case.case} {pair}/{bench.pairs} {side}: {values['rate']:,.0f} records/s")
    world.close()
    return result


def _measure_tables(bench: Bench) -> Result:
    """Run a Java source whose records alternate between tables, each with a topic and a schema of its own."""
    world = World(bench)
    name = f"source {_TABLES.name}"
    rate = Metric(f"{name} rate", "records/s", goal=_TABLES.source_goal, format="{:,.0f}")
    result = Result(
        "jar-tables",
        f"Json with schemas, {TABLES} topics and schemas in turn, {world.count:,} records",
        (
            rate,
            replace(rate, goal=_ENOUGH, absolute=True),
            Metric(f"{name} cpu", "CPU s per million", "lower", format="{:.2f}"),
        ),
    )
    settings = {"plugin.path": str(world.plugins("java"))}
    for pair, side in bench.runs():
        worker = bench.worker(side, settings, strings=False)
        with running(worker) as meter:
            values = world.run(worker, meter, _TABLES, "source")
        result.add(side, **values)
        bench.say(f"jar-tables {pair}/{bench.pairs} {side}: " + ", ".join(f"{each:,.2f}" for each in values.values()))
    world.close()
    return result


def _measure_tasks(bench: Bench) -> Result:
    """Start connectors of one bundle that have nothing to do; once more with their tasks in one JVM."""
    metrics = (
        Metric("running", "s until all run", "lower", format="{:.1f}"),
        Metric("memory", "MB of all processes", "lower", format="{:,.0f}"),
        Metric("shared running", "s until all run, task.isolation=environment", "lower", format="{:.1f}"),
        Metric("shared memory", "MB of all processes, task.isolation=environment", "lower", 1 / 1.3, format="{:,.0f}"),
    )
    result = Result("jar-tasks", f"{TASKS} file sources of Kafka's jar with nothing to read", metrics)
    settings = {"plugin.path": str(unpacked(bench, "connect-file"))}
    for pair, side in bench.runs():
        values = IdleRun(bench, side, TASKS, settings).measure(result)
        shared = values
        if side == "hearth":
            shared = IdleRun(bench, side, TASKS, {**settings, "task.isolation": "environment"}).measure(result)
        kept = {name: values[name] for name in ("running", "memory")}
        result.add(side, **kept, **{f"shared {name}": shared[name] for name in kept})
        bench.say(f"jar-tasks {pair}/{bench.pairs} {side}: {values['memory']:,.0f} MB, shared {shared['memory']:,.0f}")
    return result


CASES: dict[str, Callable[[Bench], Result]] = {
    **{case.case: partial(_measure_file, case) for case in _FILE},
    "jar-tables": _measure_tables,
    "jar-tasks": _measure_tasks,
}
