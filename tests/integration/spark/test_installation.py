"""Bundles and Hearth on executors that have neither."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hearth.spark.gateway import installed_spark
from tests.bench.cluster import SparkCluster
from tests.bundles.build import plugin_path
from tests.integration.datasource.writing import UPSERT, kept, session, write
from tests.page import block
from tests.peer.hearth_connect import ROOT, file_bundle

OF_SPARK = ("pyspark", "py4j", "pyarrow", "numpy", "numpy.libs")
"""The packages that users of Spark's Python data sources have on every executor."""


def bare(folder: Path, hidden: list[Path]) -> list[str]:
    """Return the prefix of a command that hides the folders ``hidden`` and all packages but Spark's own."""
    packages = installed_spark().parent
    kept = {name: folder / name for name in OF_SPARK if (packages / name).is_dir()}
    for own in kept.values():
        own.mkdir(parents=True)
    steps = [
        *(f"mount --bind {packages / name} {own}" for name, own in kept.items()),
        *(f"mount -t tmpfs none {each}" for each in (*hidden, ROOT / "host", ROOT / "plugins", packages)),
        *(f"mkdir {packages / name} && mount --bind {own} {packages / name}" for name, own in kept.items()),
    ]
    command = " && ".join(steps)
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", f'{command} && exec "$@"', "sh"]


@pytest.fixture
def bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Provide a plugin.path with a source and a sink, whose environments are in a separate home."""
    monkeypatch.setenv("HEARTH_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return f"{plugin_path('upsert')},{file_bundle()}"


@pytest.fixture
def spark(tmp_path: Path, bundles: str) -> Iterator[SparkSession]:
    """Provide a session on two workers of a real master: a mount hides all but Python and Spark's requirements."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("a private mount requires root and util-linux")
    through = bare(tmp_path / "kept", [tmp_path / "home", *map(Path, bundles.split(","))])
    with (
        SparkCluster(tmp_path / "cluster", 2, through=through) as cluster,
        session(cluster.url, {"spark.executor.cores": "1", "spark.cores.max": "2"}) as opened,
    ):
        yield opened


@pytest.mark.long
def test_bundles_and_hearth_are_shipped_to_executors(spark: SparkSession, bundles: str, tmp_path: Path) -> None:
    """Executors write and read, in batches and in streams whose tasks run on the driver or there."""
    database, lines = tmp_path / "d.sqlite", tmp_path / "lines.txt"
    rows = spark.range(1000, numPartitions=4).selectExpr("cast(id AS string) AS value")
    with pytest.raises(Exception, match=r"No module named 'hearth"):
        write(rows, bundles, connector__class=UPSERT, databaseFile=database)
    load, call = block("python", "hearth.spark.install").replace('"plugin_path"', repr(bundles)).split("\n\n")
    names: dict[str, Any] = {"spark": spark}
    exec(load, names)
    assert sorted(eval(call, names)) == ["hearth-file", "upsert"]
    write(rows, bundles, connector__class=UPSERT, databaseFile=database)
    assert sorted(int(each[3]) for each in kept(database)) == list(range(1000))

    written = [f"line {number}" for number in range(1000)]
    lines.write_text("".join(f"{line}\n" for line in written))
    source = {"plugin.path": bundles, "connector.class": "FileStreamSource", "file": str(lines), "topic": "t"}
    read = spark.read.format("hearth").options(**source).load()
    assert sorted(row.value for row in read.collect()) == sorted(written)
    for where in ("driver", "executors"):
        own, copy = tmp_path / where, tmp_path / f"{where}.sqlite"
        stream = spark.readStream.format("hearth").options(**source).option("hearth.tasks.on", where)
        query = (
            stream.option("hearth.spool", str(own / "spool")).schema("value string").load()
            .writeStream.format("hearth").option("plugin.path", bundles).option("connector.class", UPSERT)
            .option("databaseFile", str(copy)).option("checkpointLocation", str(own / "checkpoint"))
            .trigger(availableNow=True).start()
        )  # fmt: skip
        query.awaitTermination()
        assert sorted(each[3] for each in kept(copy)) == sorted(written)
