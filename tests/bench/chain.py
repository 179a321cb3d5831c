"""Case k: eight transformations in a chain on a nested record, in columns and in record form.

In columns, Kafka's own transformations, which are built in here, turn the lines of a file into nested structs. In
record form a source creates such records, and each transformation is a third party's that builds a new record
(`tests/bundles/pace`, and the Java sources in `java` next to this file).
"""

from __future__ import annotations

from tests.bench.bench import Bench, running
from tests.bench.record_form import Row, World
from tests.bench.result import Metric, Result
from tests.bench.throughput import Source, Throughput
from tests.peer.case import transforms

LENGTH = 8
_COLUMNS = Throughput(
    "k", "columns", is_source=True, is_text=False, goal=3.0,
    config=transforms(
        line={"type": "HoistField$Value", "field": "line"},
        source={"type": "InsertField$Value", "static.field": "source", "static.value": "bench"},
        mask={"type": "MaskField$Value", "fields": "source", "replacement": "*"},
        after={"type": "HoistField$Value", "field": "after"},
        op={"type": "InsertField$Value", "static.field": "op", "static.value": "7"},
        number={"type": "Cast$Value", "spec": "op:int32"},
        rename={"type": "ReplaceField$Value", "renames": "op:operation"},
        name={"type": "SetSchemaMetadata$Value", "schema.name": "change"},
    ),
)  # fmt: skip
_RAISES = [f"r{number}" for number in range(LENGTH)]
_RECORDS = Row(
    "record form",
    "nested",
    {"transforms": ",".join(_RAISES), **{f"transforms.{each}.type": "org.example.pace.Raise" for each in _RAISES}},
)
_METRICS = (
    Metric("columns rate", "columns, records/s", goal=_COLUMNS.goal, format="{:,.0f}"),
    Metric("columns cpu", "columns, CPU s per million", "lower", format="{:.2f}"),
    Metric("source record form rate", "record form, records/s", goal=1.0, format="{:,.0f}"),
    Metric("source record form cpu", "record form, CPU s per million", "lower", format="{:.2f}"),
)


def measure(bench: Bench) -> Result:
    """Run both chains in separate workers; the sides alternate."""
    lines, world = Source(bench, _COLUMNS), World(bench)
    title = (
        f"{LENGTH} transformations in a chain, nested records, {bench.records:,} in columns, {world.count:,} others"
    )
    result = Result("k", title, _METRICS)
    for pair, side in bench.runs():
        columns = lines.run(bench.worker(side, strings=False))
        values = {f"columns {name}": columns[name] for name in ("rate", "cpu")}
        worker = bench.worker(side, {"plugin.path": str(world.plugins(side))}, strings=False)
        with running(worker) as meter:
            values |= world.run(worker, meter, _RECORDS, "source")
        result.add(side, **values)
        bench.say(f"k {pair}/{bench.pairs} {side}: " + ", ".join(f"{value:,.2f}" for value in values.values()))
    lines.close()
    world.close()
    return result
