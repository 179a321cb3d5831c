"""Case m: the cost of running plugins in stages, compared with the same plugins in the task's process.

Both sides are Hearth. On one, transformations and converters are installed with the host; on the other they are
bundles of plugin.path. Kafka's own work on columns, `Label` on records. On both, the connector's own task runs in a
stage.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence

from tests.bench.bench import Bench, settle
from tests.bench.plugin_list import hearth_bundles
from tests.bench.result import Metric, Result
from tests.bench.throughput import CASES, Sink, Source, Throughput
from tests.bundles.build import plugin_path, wheel
from tests.peer.hearth_connect import HearthConnect, file_bundle
from tests.peer.worker import Worker

SIDES = ("in process", "in stages")
_KEPT = 0.95
_LABEL = {"transforms": "label", "transforms.label.type": "org.example.pace.Label"}
_COLUMNS = {"source, columns": CASES[1], "sink, columns": CASES[3]}
_RECORDS = {
    "source, records": Throughput("m", "", is_source=True, is_text=True, config=_LABEL, goal=_KEPT),
    "sink, records": Throughput("m", "", is_source=False, is_text=True, config=_LABEL, goal=_KEPT),
}


def measure(bench: Bench) -> Result:
    """Run every row on both sides, which alternate, as does which of them is first."""
    title = f"plugins in stages, {bench.records:,} lines"
    rows = {**_COLUMNS, **_RECORDS}
    result = Result("m", title, [metric for name in rows for metric in _metrics(name)], SIDES)
    if "hearth" not in bench.sides:
        return result
    places = Places(bench)
    worlds = {name: (Source if case.is_source else Sink)(bench, case) for name, case in rows.items()}
    for pair in range(1, bench.pairs + 1):
        for name, case in rows.items():
            for side in SIDES if pair % 2 else SIDES[::-1]:  # the second writer finds the disk busy
                settle()
                found = worlds[name].run(places.worker(side, case.is_text))
                result.add(side, **{f"{name} {what}": found[what] for what in ("rate", "cpu_without_jvm")})
                bench.say(
                    f"m {pair}/{bench.pairs} {side} {name}: {found['rate']:,.0f}, {found['cpu_without_jvm']:.2f}"
                )
    for world in worlds.values():
        world.close()
    return result


def _metrics(name: str) -> Sequence[Metric]:
    return (
        Metric(f"{name} rate", f"{name}, records/s", goal=_KEPT, format="{:,.0f}"),
        Metric(f"{name} cpu_without_jvm", f"{name}, CPU s per million", "lower", format="{:.2f}"),
    )


class Places:
    """The same plugins in two places: packages installed with the host, and a plugin.path."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._installed = bench.folder / "m-installed"
        with zipfile.ZipFile(wheel("pace")) as packages:
            packages.extractall(self._installed)
        self._bundles = bench.folder / "m-bundles"
        hearth_bundles(self._bundles)

    def worker(self, side: str, is_text: bool) -> Worker:
        """Return a worker of a side, not started yet."""
        places = {SIDES[0]: [file_bundle()], SIDES[1]: [self._bundles, plugin_path("pace")]}
        path = ",".join(map(str, places[side]))
        worker = self._bench.worker("hearth", {"plugin.path": path}, strings=is_text)
        if side == SIDES[0]:
            assert isinstance(worker, HearthConnect)
            worker.class_path = [self._installed]
        return worker
