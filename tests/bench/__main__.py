"""`tools/bench [CASE ...]`: runs the benchmark and prints the results."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from hearth.broker import KafkaBroker
from tests.bench import (
    bad_record,
    chain,
    database,
    dirty,
    failing_plugin,
    frame,
    frame_kafka,
    frame_write,
    header_sink,
    idle,
    installation,
    isolation,
    jar,
    jar_change,
    jar_mirror,
    jar_start,
    latency,
    leader,
    mode,
    parallel,
    plugin_list,
    record_form,
    recovery,
    registry_form,
    startup,
    storage,
    storage_source,
    throughput,
    transformation,
)
from tests.bench.bench import SIDES, Bench
from tests.bench.report import table
from tests.bench.result import Result
from tests.peer.java_connect import PERFORMANCE_OPTIONS
from tests.peer.topic import Topics
from tests.reservation import reserve_port

_JAR: dict[str, Callable[[Bench], Result]] = {
    **jar.CASES,
    "jar-changes": jar_change.measure,
    "jar-mirror": jar_mirror.measure,
    "jar-start": jar_start.measure,
}
CASES: dict[str, Callable[[Bench], Result]] = {
    **{case.case: partial(throughput.measure, case) for case in throughput.CASES},
    "e": plugin_list.measure,
    "f": startup.measure,
    "g": latency.measure,
    "h": recovery.measure,
    "i": idle.measure,
    "j": record_form.measure,
    "k": chain.measure,
    "l": parallel.measure,
    "m": isolation.measure,
    "n": installation.measure,
    **registry_form.CASES,
    "s": recovery.measure_cluster,
    "stores": mode.measure_stores,
    "once": mode.measure_once,
    "leader": leader.measure,
    "t": transformation.measure,
    **frame.CASES,
    "z": frame_write.measure,
    "through": frame_kafka.measure,
    **dirty.CASES,
    "dirty:own": failing_plugin.measure,
    "dirty:read": header_sink.measure,
    "dirty:latency": bad_record.measure,
    **_JAR,
    "database": database.measure,
    "storage": storage.measure,
    "storage-source": storage_source.measure,
}

_OTHERS = (
    "s", "t", "stores", "once", "leader", *"wxyz", "through", *dirty.CASES, "dirty:own", "dirty:read", "dirty:latency",
    *_JAR, "database", "storage", "storage-source",
)  # fmt: skip
USUAL = [case for case in CASES if case not in _OTHERS]
"""The cases that run where none is named: all but those that have more pipelines than all others, wait longer, have no
Kafka, or compare Hearth with itself.
"""


def _numbers(_context: click.Context, _option: click.Parameter, text: str) -> list[int]:
    """Parse the numbers of connectors for the runs, in ascending order."""
    try:
        return sorted(int(number) for number in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of numbers such as 20,100") from None


def _properties(_context: click.Context, _option: click.Parameter, texts: Sequence[str]) -> dict[str, str]:
    """Parse properties."""
    if wrong := [text for text in texts if "=" not in text]:
        raise click.BadParameter(f"{wrong[0]!r} is not a property such as task.isolation=environment")
    return {key: value for key, _, value in (text.partition("=") for text in texts)}


@click.command()
@click.argument("cases", metavar="[CASE ...]", nargs=-1, type=click.Choice(list(CASES)))
@click.option("--pairs", default=3, show_default=True, help="Runs of each side; the ratio is the median of the pairs.")
@click.option("--records", default=3_000_000, show_default=True, help="Lines moved in a run of cases a to d.")
@click.option(
    "--rows", default=2_000_000, show_default=True, help="Rows of cases w, x, z, through, database and storage*."
)
@click.option("--only", type=click.Choice(SIDES), help="Run one side only; there are no ratios then.")
@click.option(
    "--connectors",
    "connectors",
    metavar="N[,N...]",
    default="100,200",
    show_default=True,
    callback=_numbers,
    help="Numbers of connectors for the runs of cases i and leader.",
)
@click.option(
    "--hearth",
    "hearth",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_properties,
    help="A worker property for Hearth's side; repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON with every run.")
def main(
    cases: tuple[str, ...],
    pairs: int,
    records: int,
    rows: int,
    only: str | None,
    connectors: Sequence[int],
    hearth: Mapping[str, str],
    as_json: bool,
) -> None:
    """Compare Java's Kafka Connect and Hearth in alternating runs.

    Cases: (a) file source, String; (b) with three transformations and Json; (c) file sink, String; (d) with Json and
    ExtractField; (e) listing plugins; (f) start; (g) latency; (h) recovery from kills; (i) many idle connectors; (j)
    record form; (k) eight transformations in a chain; (l) eight tasks; (m) plugins in stages and in the task's
    process; (n) bundles from a file to a list, and starts of stages; (o) b with Avro and (p) d with Avro, (q) and (r)
    with JSON Schema, (u) and (v) with Protobuf, each compared with Json in Java. Without arguments, all of these. (s)
    the end of the leading host; (t) every transformation in its own pipeline; (stores) a to d with stores in topics
    and in files; (once) a and b exactly once and at least once; (leader) the costs of many connectors for a cluster's
    leading host, whose tasks run elsewhere; (w) a source as a DataFrame, (x) as a stream that ends, (y) the latency
    of a stream; (z) a DataFrame written to a file, compared with Spark's own writer; (through) w through Kafka.
    (dirty) real-world data: optional members, failures, alternating topics, headers, the worst row first; dirty:bad-1
    is one row of it, dirty:bad a group: shapes, schemas, formats, bad, dead, cast, source, filter,
    topics, headers, sizes. (database) the JDBC connectors and the bulk ways of four databases. (storage)
    sinks of files beside Arrow's writer. (storage-source) files
    of Parquet read by their source, beside Arrow's reader. Java's own plugins from their jars: (jar-source) and
    (jar-sink) files, (jar-mirror) a topic, (jar-tables) twenty tables in turn,
    (jar-changes) Debezium's changes of MariaDB, (jar-start) lists, validation and start, (jar-tasks) the memory of
    twenty tasks.
    """
    with tempfile.TemporaryDirectory(prefix="hearth-bench-") as folder:
        # Kafka's own server settings: the broker is not measured, and both sides use it.
        options = ("-Xms512m", *PERFORMANCE_OPTIONS)
        broker = KafkaBroker(
            Path(folder, "broker"), reserve_port(), heap="1g", retention_bytes=8 << 30, jvm_options=options
        )
        with broker:
            bench = Bench(
                Path(folder), broker, pairs, records, Topics(broker.bootstrap_servers), [only] if only else SIDES,
                connectors, hearth, rows,
            )  # fmt: skip
            results = [_run(case, bench, as_json) for case in cases or USUAL]
    if as_json:
        click.echo(
            json.dumps({"pairs": pairs, "records": records, "cases": [one.as_json() for one in results]}, indent=2)
        )


def _run(case: str, bench: Bench, as_json: bool) -> Result:
    """Run one case and print its block of the table immediately."""
    started = time.monotonic()
    result = CASES[case](bench)
    bench.say(f"{case} took {time.monotonic() - started:.0f} s")
    if not as_json:
        click.echo(table([result]))
    return result


if __name__ == "__main__":
    main()
