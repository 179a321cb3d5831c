"""Cases jar-...: Java's own plugins, from their jars, in Java Connect and in Hearth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.bench.bench import Bench
from tests.bench.result import Result
from tests.bench.throughput import LINE_BYTES, Sink, Source, Throughput, metrics
from tests.peer.plugin_list import place

_FILE = (
    Throughput("jar-source", "FileStreamSource of Kafka's jar, String", True, True, {}, goal=2.5),
    Throughput("jar-sink", "FileStreamSink of Kafka's jar, String", False, True, {}, goal=2.0),
)


def _measure_file(case: Throughput, bench: Bench) -> Result:
    """Run Kafka's file connectors in alternating pairs."""
    result = Result(case.case, f"{case.title}, {bench.records:,} lines of {LINE_BYTES} bytes", metrics(case))
    settings = {"plugin.path": str(plugins(bench, "connect-file"))}
    world = Source(bench, case) if case.is_source else Sink(bench, case)
    for pair, side in bench.runs():
        values = world.run(bench.worker(side, settings))
        result.add(side, **values)
        bench.say(f"{case.case} {pair}/{bench.pairs} {side}: {values['rate']:,.0f} records/s")
    world.close()
    return result


def plugins(bench: Bench, *bundles: str) -> Path:
    """Return a new plugin.path with bundles of Java plugins."""
    folder = bench.folder / bench.fresh("jars")
    folder.mkdir()
    for bundle in bundles:
        place(bundle, folder)
    return folder


CASES: dict[str, Callable[[Bench], Result]] = {case.case: partial(_measure_file, case) for case in _FILE}
