"""Case z: a sink writes rows of a DataFrame to a file, compared with Spark's own text writer.

Both write the same rows, which are in Spark's memory, once for each pair; the first write of each is not counted,
because it includes the start of Python and compiling.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.bench import Bench, settle
from tests.bench.result import Metric, Result
from tests.integration.datasource.writing import session, write
from tests.peer.hearth_connect import file_bundle

LINE_BYTES = 100
PARTITIONS = 3
_METRICS = (
    Metric("rate", "thousand rows a second", goal=None, format="{:,.0f}"),
    Metric("goal", "thousand rows a second", goal=1500.0, absolute=True, format="{:,.0f}"),
)


def measure(bench: Bench) -> Result:
    """Write with each side in turn."""
    result = Result("z", f"{bench.rows:,} rows of {LINE_BYTES} bytes written to a file", _METRICS,
                    ("write.text", "hearth"))  # fmt: skip
    bundles = str(file_bundle())
    with session(f"local[{PARTITIONS}]", {"spark.driver.memory": "2g"}) as spark:
        rows = spark.range(bench.rows, numPartitions=PARTITIONS)
        lines = rows.selectExpr(f"rpad(cast(id AS string), {LINE_BYTES - 1}, 'x') AS value").persist()
        assert lines.count() == bench.rows
        sides: dict[str, Callable[[Path], None]] = {
            "write.text": lambda path: lines.write.text(str(path)),
            "hearth": lambda path: write(lines, bundles, connector__class="FileStreamSink", file=path),
        }
        for pair in range(bench.pairs + 1):
            for side, act in sides.items():
                rate = bench.rows / _timed(bench, act) / 1000
                if pair:
                    result.add(side, rate=rate, **({"goal": rate} if side == "hearth" else {}))
                    bench.say(f"z {pair}/{bench.pairs} {side}: {rate:,.0f} thousand rows a second")
    return result


def _timed(bench: Bench, act: Callable[[Path], None]) -> float:
    settle()
    path = bench.folder / bench.fresh("z")
    started = time.monotonic()
    act(path)
    seconds = time.monotonic() - started
    if path.is_dir():
        shutil.rmtree(path)
    else:
        assert _lines(path) == bench.rows
        path.unlink()
    return seconds


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
