"""Case jar-start: the times to list five real bundles of Java plugins, to validate a connector, to a first record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.bench import Bench
from tests.bench.jar import unpacked
from tests.bench.plugin_list import hearth_list, java_list, timed
from tests.bench.result import Metric, Result
from tests.bench.startup import started
from tests.peer.plugin_list import BUNDLES
from tests.peer.worker import Worker

_BUNDLE = "debezium-connector-mariadb"
_CONNECTOR = "io.debezium.connector.mariadb.MariaDbConnector"
_CONFIG = {
    "name": "shop", "connector.class": _CONNECTOR, "database.hostname": "localhost", "database.port": "1",
    "database.user": "nobody", "topic.prefix": "shop", "database.server.id": "1",
}  # fmt: skip
_METRICS = (
    Metric("list", f"s, {len(BUNDLES)} bundles listed", "lower", goal=0.3, absolute=True, format="{:.2f}"),
    Metric("validate", "s, Debezium's connector validated, first", "lower", 0.6, absolute=True, format="{:.2f}"),
    Metric("again", "s, and again", "lower", format="{:.2f}"),
    Metric("first", "s, start of a worker to the first record of a file", "lower", goal=1.0, format="{:.2f}"),
)


def measure(bench: Bench) -> Result:
    """Measure each time once for each pair, after one run of Hearth that sees the bundles for the first time."""
    result = Result("jar-start", "Java plugins: lists, validation, start", _METRICS)
    five, debezium, files = (unpacked(bench, *each) for each in (BUNDLES, [_BUNDLE], ["connect-file"]))
    file = bench.folder / "jar-start.txt"
    file.write_text("first\n")
    if "hearth" in bench.sides:
        _run(bench, "hearth", (five, debezium, files), file)
    for pair, side in bench.runs():
        values = _run(bench, side, (five, debezium, files), file)
        result.add(side, **values)
        bench.say(f"jar-start {pair}/{bench.pairs} {side}: " + ", ".join(f"{v:.2f}" for v in values.values()))
    return result


def _run(bench: Bench, side: str, plugins: Sequence[Path], file: Path) -> dict[str, float]:
    """Measure one side; ``plugins`` are the plugin.path of each of the three times."""
    five, debezium, files = plugins
    listed = timed(java_list(five) if side == "java" else hearth_list(five))
    with bench.worker(side, {"plugin.path": str(debezium)}) as worker:
        validated = [_validate(worker) for _ in range(2)]
    _, first = started(bench, side, file, {"plugin.path": str(files)})
    return {"list": listed, "validate": validated[0], "again": validated[1], "first": first}


def _validate(worker: Worker) -> float:
    """Return the seconds of one validation; the database does not answer, so it has an error."""
    begun = time.monotonic()
    answer = worker.rest.call("PUT", f"/connector-plugins/{_CONNECTOR}/config/validate", _CONFIG)
    seconds = time.monotonic() - begun
    assert answer.status == 200, answer.text
    return seconds
