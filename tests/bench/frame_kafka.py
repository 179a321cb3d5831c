"""Case through: case w through Kafka: a host writes a file's lines to a topic, and Spark's Kafka source reads it.

The two run one after the other, and neither's start is counted: the figure is their total time while rows flow.
"""

from __future__ import annotations

from dataclasses import replace

from tests.bench.bench import Bench, settle
from tests.bench.frame import run_session
from tests.bench.result import Metric, Result
from tests.bench.throughput import CASES, Source, fill

_METRICS = (
    Metric("whole", "rows/s, one after the other", format="{:,.0f}"),
    Metric("into", "records/s, from a file into a topic", format="{:,.0f}"),
    Metric("out", "rows/s, from the topic into a DataFrame", format="{:,.0f}"),
    Metric("cpu", "CPU us a row of both, without the broker", "lower", format="{:.2f}"),
)


def measure(bench: Bench) -> Result:
    """Measure both directions, once for each pair."""
    own = replace(bench, records=bench.rows)
    title = f"{bench.rows:,} lines of 100 bytes through Kafka to nowhere; cases w and x are without"
    result = Result("through", title, _METRICS)
    source, topic = Source(own, CASES[0]), bench.fresh("through")
    bench.topics.create(topic)
    fill(own, topic, (b"", b""))
    for run in range(1, bench.pairs + 1):
        settle()
        into = source.run(own.worker("hearth"))
        settle()
        out = run_session("through", bench, bench.broker.bootstrap_servers, topic)
        whole = 1 / (1 / into["rate"] + 1 / out["rate"])
        result.add("hearth", whole=whole, into=into["rate"], out=out["rate"], cpu=into["cpu"] + out["cpu"])
        bench.say(f"through {run}/{bench.pairs}: {whole:,.0f} rows/s")
    bench.topics.delete([topic])
    return result
