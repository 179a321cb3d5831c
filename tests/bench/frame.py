"""Cases w, x and y: any source as a DataFrame, read as a batch and as a stream, without Kafka and Kafka Connect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial

from tests.bench.bench import Bench
from tests.bench.result import Metric, Result
from tests.peer.hearth_connect import ROOT, file_bundle
from tests.spark_python import spark_python

_CASES = {
    "w": (
        "batch read of {rows:,} lines of 100 bytes, to nowhere",
        (
            Metric("whole", "rows/s, all columns", goal=2_000_000, absolute=True, format="{:,.0f}"),
            Metric("value", "rows/s, values alone", format="{:,.0f}"),
            Metric("text", "rows/s, spark.read.text", format="{:,.0f}"),
            Metric("least", "s, one line with a schema, warm", "lower", goal=0.4, absolute=True, format="{:.2f}"),
            Metric("cpu", "CPU us a row, all columns", "lower", format="{:.2f}"),
            Metric("text_cpu", "CPU us a row, spark.read.text", "lower", format="{:.2f}"),
        ),
    ),
    "x": (
        "streaming read of {rows:,} lines with the trigger availableNow, to nowhere; case through is by way of Kafka",
        (
            Metric("rate", "rows/s, from start to end of the query", format="{:,.0f}"),
            Metric("cpu", "CPU us a row", "lower", format="{:.2f}"),
            Metric("installed_rate", "rows/s, pyspark not from its zip", format="{:,.0f}"),
            Metric("installed_cpu", "CPU us a row, pyspark not from its zip", "lower", format="{:.2f}"),
        ),
    ),
    "y": (
        "latency from a line that is appended to foreachBatch",
        (
            Metric("p50", "ms, median", "lower", goal=200, absolute=True),
            Metric("p99", "ms, 99th percentile", "lower"),
        ),
    ),
}


def measure(case: str, bench: Bench) -> Result:
    """Run a case in new sessions, once for each pair."""
    title, metrics = _CASES[case]
    result = Result(case, title.format(rows=bench.rows), metrics)
    for run in range(1, bench.pairs + 1):
        found = run_session(case, bench)
        if case == "x":  # as the guide to DataFrames recommends, for a faster start of queries
            sooner = run_session(case, bench, python=spark_python())
            found |= {f"installed_{name}": figure for name, figure in sooner.items()}
        result.add("hearth", **found)
        bench.say(f"{case} {run}/{bench.pairs}: {found}")
    return result


def run_session(case: str, bench: Bench, *more: str, python: str = sys.executable) -> dict[str, float]:
    """Run a case once with additional arguments, and return its figures.

    ``python`` is the program with which Spark starts its Python processes.
    """
    folder = bench.folder / bench.fresh(f"frame-{case}")
    folder.mkdir()
    arguments = [case, str(folder), str(file_bundle()), str(bench.rows), *more]
    command = [sys.executable, "-m", "tests.bench.frame_session", *arguments]
    environment = {**os.environ, "PYSPARK_PYTHON": python}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


CASES: dict[str, Callable[[Bench], Result]] = {case: partial(measure, case) for case in _CASES}
